# SPDX-License-Identifier: Apache-2.0
"""What works on this machine: which collective over which transport with which algorithms, which operator on which
type.

Nothing is listed by hand: transports and kernels are tried, algorithms are those from which the engine chooses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from railgauge._native import collectives as native
from railgauge.collectives.cost import host_cost
from railgauge.collectives.device import Device, why_no_gpu
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.gpu_way import between_gpus
from railgauge.collectives.operation import IN_PLACE, NUMBERS, REDUCING, ROOTED
from railgauge.collectives.tuning import ALGORITHMS
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.transports.available import OF_GPUS, Available
from railgauge.transports.select import SHM

ONE_HOST, TWO_HOSTS = (2,), (2, 2)
"""Ranks of each host, if all use shared memory, and if some must use another transport."""
RANKS, ELEMENTS = 3, 257
"""Elements for trying a kernel: more than two inputs, and a tail after all vectors."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    """One collective on one device over one transport."""

    collective: Collective
    device: Device
    transport: str
    why_not: str | None
    """What is missing; None if it works."""
    algorithms: tuple[Algorithm, ...]
    """The algorithms that can run it; empty if it does not work."""

    @property
    def reduces(self) -> bool:
        """Whether it uses an operator."""
        return self.collective in REDUCING

    @property
    def rooted(self) -> bool:
        """Whether it has a root."""
        return self.collective in ROOTED

    @property
    def in_place(self) -> bool:
        """Whether it can run in place."""
        return self.collective in IN_PLACE


def supported(transports: Sequence[Available]) -> list[Support]:
    """Every collective, on every device, over every one of these transports that such a device could use."""
    return [
        _support(collective, device, transport)
        for collective in NUMBERS
        for device in Device
        for transport in transports
        if device is Device.CUDA or transport.name not in OF_GPUS
    ]


def reductions() -> dict[Dtype, list[Redop]]:
    """The operators that give the right result on each type, by trying the kernels."""
    return {dtype: [op for op in Redop if _reduces(dtype, op)] for dtype in Dtype}


def _support(collective: Collective, device: Device, transport: Available) -> Support:
    why_not = (why_no_gpu() if device is Device.CUDA else None) or transport.why_not
    if why_not:
        algorithms = []
    elif device is Device.CUDA:
        algorithms = between_gpus(collective, network=transport.name.startswith("NET/"))
    else:
        algorithms = _algorithms(collective, ONE_HOST if transport.name == SHM else TWO_HOSTS)
    return Support(
        collective=collective,
        device=device,
        transport=transport.name,
        why_not=why_not or (None if algorithms else "no algorithm runs it over this transport"),
        algorithms=tuple(algorithms),
    )


def _algorithms(collective: Collective, hosts: Sequence[int]) -> list[Algorithm]:
    there = host_cost.algorithms(collective, hosts)
    return [algorithm for algorithm in ALGORITHMS if algorithm in there]


def _reduces(dtype: Dtype, op: Redop) -> bool:
    pattern = native.Pattern(RANKS, dtype, op, 0)
    result, *inputs = (_elements(dtype) for _ in range(1 + RANKS))
    for rank, data in enumerate(inputs):
        native.fill_pattern(pattern, rank, data, ELEMENTS)
    native.combine(result, inputs, dtype, op, RANKS if op is Redop.AVG else 0)
    return native.check_reduced(pattern, result, ELEMENTS)[0] == 0


def _elements(dtype: Dtype) -> Any:
    """Room for the elements; the engine takes it as bytes."""
    return bytearray(ELEMENTS * dtype.bytes)
