# SPDX-License-Identifier: Apache-2.0
"""hwloc's matrix "NVLinkBandwidth": MB/s between GPUs, NVSwitches and processors, by hwloc's numbers of the objects.

As its NVML backend sums them up (hwloc/topology-nvml.c): 20 GB/s for each link of NVLink 1, 25 from NVLink 2 on, 50 of
NVLink 5, and 1 TB/s on the diagonal. A link to what hwloc does not see, such as a hidden NVSwitch, is left out.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from railgauge.topo.facts.pasted import gpu_models
from railgauge.topo.facts.pasted.host import PastedHost
from railgauge.topo.facts.pasted.nvlinks import TO_CPU, TO_GPU, TO_SWITCH, link
from railgauge.topo.values.busid import ASSUMED

NVLINKS = "NVLinkBandwidth"
LINK_MB_PER_S = (((10, 0), 50_000), ((7, 0), 25_000), ((0, 0), 20_000))
"""By the oldest compute capability with such links."""
MOST_LINKS = 64  # of one GPU; today's have 18
MOST_DIGITS = 9
CPU_PORT, CPU_PORT_CLASS = f"{ASSUMED}:ff:00.0", "0x068001"
"""The NVLink port of a POWER processor, of which hwloc has the processor alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NvlinkEnd:
    """An object that NVLinks end at: a GPU (its `index` in NVML), an NVSwitch (`bus_id` alone), or a processor."""

    index: int | None = None
    bus_id: str = ""


@dataclass(slots=True, kw_only=True)
class NvlinkMatrix:
    """The matrix as it is read: numbers of objects, before which the type may stand, and MB/s row by row.

    `ends`: what these numbers are; a processor if they are not among them.
    """

    ends: dict[str, NvlinkEnd] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)

    def add(self, element: str, text: str) -> None:
        """Add a part of an element's text."""
        self.texts.setdefault(element, []).append(text)

    def connect(self, host: PastedHost) -> None:
        """Give the GPUs in it their `links`, as NVML answers; none if it is not square."""
        ends = [self.ends.get(word.rpartition(":")[2], NvlinkEnd()) for word in self._words("indexes")]
        values = [int(word) for word in self._words("u64values") if re.fullmatch(rf"\d{{1,{MOST_DIGITS}}}", word)]
        if len(values) != len(ends) ** 2:
            return
        if not all(one.bus_id for one in ends):
            host.function(CPU_PORT).pci_class = CPU_PORT_CLASS
            host.assumed.append(f"hwloc has no bus ids of processors' NVLink ports: {CPU_PORT} is assumed")
        for row, one in enumerate(ends):
            if one.index is not None:
                each = _mb_per_s(host.gpu(one.index))
                counts = [value // each for value in values[row * len(ends) : (row + 1) * len(ends)]]
                host.gpu(one.index)["links"] = [
                    _answer(other)
                    for other, count in zip(ends, counts, strict=True)
                    for _ in range(min(count, MOST_LINKS) if other is not one else 0)
                ]

    def _words(self, element: str) -> list[str]:
        return "".join(self.texts.get(element, ())).split()


def _mb_per_s(gpu: Mapping[str, Any]) -> int:
    capability = gpu_models.of_product(gpu.get("name")) or (7, 0)
    return next(speed for first, speed in LINK_MB_PER_S if capability >= first)


def _answer(end: NvlinkEnd) -> dict[str, Any]:
    if end.index is not None:
        return link(end.bus_id, TO_GPU)
    return link(end.bus_id, TO_SWITCH) if end.bus_id else link(CPU_PORT, TO_CPU)
