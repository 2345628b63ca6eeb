# SPDX-License-Identifier: Apache-2.0
"""What would make a machine as slow as it was measured: the forecast under each cause that operators meet."""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from railgauge.topo.compare.what_if import edited
from railgauge.topo.errors import Error
from railgauge.topo.findings.cards.gdr import PEERMEM_MISSING
from railgauge.topo.findings.cards.gpus import P2P_UNSUPPORTED
from railgauge.topo.findings.cards.nvlink import NVLINK_MISSING
from railgauge.topo.findings.cards.parts import FEWER_CHANNELS
from railgauge.topo.findings.cards.pcie import PCIE_LINK_DEGRADED
from railgauge.topo.findings.cards.rdma import VERBS_DEVICE_MISSING
from railgauge.topo.findings.cards.settings import NCCL_SETTING_HARMFUL
from railgauge.topo.jobs.judge.curve import Sized, apart, reached
from railgauge.topo.jobs.judge.measured_run import NOTHING, MeasuredRun
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.ends import names_of

FITS = 0.35
"""log2 of a ratio: a cause explains a curve to 27 %; forecasts of healthy machines are no nearer to all that is
published (benchmarks/predict)."""
LOOSELY = 0.6
"""The same where nothing fits as well: through host memory hosts differ that much (NCCL between two H200 of a VM without
P2P: 27 GB/s of the 39 forecast, benchmarks/gpu_vs_nccl)."""
BETTER = 0.6
"""Share of the healthy forecast's distance that a cause's may have."""
NEAR = 1.6
"""How many times the distance of the best another cause that is named may have."""
SELDOM = 0.05
"""By how much further a setting that hardly anybody makes has to be to come after another cause."""
MOST = 4
CHANNELS = (1, 2, 4, 8)


class PossibleCause(NamedTuple):
    """A cause in words, the finding that explains it ("" for none), and how to be sure."""

    what: str
    id: str
    sure: str
    seldom: bool = False


SOCKETS = PossibleCause(
    "TCP sockets instead of RDMA, which reach 1 to 12 GB/s",
    VERBS_DEVICE_MISSING.id,
    "NCCL_DEBUG=INFO, then railgauge log explain: via NET/Socket",
)
SOCKETS_REACH = 12.5
"""GB/s: a host's TCP over interfaces of 100 Gb/s; with NCCL_SOCKET_NTHREADS seldom more."""


class FittingCause(NamedTuple):
    """A cause whose forecast fits, and what it predicts by size in GB/s."""

    cause: PossibleCause
    apart: float
    gb_per_s: Mapping[int, float]


def fitting(
    curve: list[Sized], machine: Machine, run: MeasuredRun, in_force: Mapping[str, str] = NOTHING
) -> list[FittingCause]:
    """The causes whose forecast the curve follows, the nearest first. `in_force`: settings on the machine that the run
    may have had.
    """
    healthy = apart(curve, run.predicted(machine))
    found = []
    for cause, variant, changed in _variants(machine, run, in_force):
        with suppress(Error):
            by_size = run.predicted(variant, changed)
            found.append(FittingCause(cause, apart(curve, by_size), by_size))
    found.sort(key=lambda one: one.apart + SELDOM * one.cause.seldom)
    best = min((one.apart for one in found), default=0.0)
    most = min(FITS if best <= FITS else LOOSELY, BETTER * healthy, max(NEAR * best, best + 0.05))
    named = [one for one in found if one.apart <= most][:MOST]
    if not named and run.nodes > 1 and reached(curve) < SOCKETS_REACH:
        return [FittingCause(SOCKETS, math.inf, {})]
    return named


def _variants(
    machine: Machine, run: MeasuredRun, in_force: Mapping[str, str]
) -> Iterator[tuple[PossibleCause, Machine, Mapping[str, str]]]:
    if in_force:
        texts = ", ".join(f"{name}={value}" for name, value in sorted(in_force.items()))
        yield PossibleCause(f"settings in force: {texts}", NCCL_SETTING_HARMFUL.id, "railgauge env"), machine, in_force
    yield from ((cause, machine, settings) for cause, settings in _settings(run.nodes))
    for cause, sets, drops in _edits(machine, run.nodes):
        with suppress(Error):
            yield cause, replace(machine, topology=edited(machine.running, sets, drops)), {}


def _settings(nodes: int) -> Iterator[tuple[PossibleCause, dict[str, str]]]:
    log = "NCCL_DEBUG=INFO, then railgauge log explain"
    for protocol in ("LL", "LL128", "Simple"):
        for algorithm in ("Ring", "Tree"):
            cause = f"{algorithm} with {protocol} at all sizes (NCCL_ALGO, NCCL_PROTO)"
            yield PossibleCause(cause, "", "railgauge env", True), {"NCCL_ALGO": algorithm, "NCCL_PROTO": protocol}
        cause = f"{protocol} at all sizes (NCCL_PROTO)"
        yield PossibleCause(cause, "", "railgauge env", True), {"NCCL_PROTO": protocol}
    for count in CHANNELS:
        cause = f"{count} channel{'s' * (count > 1)} only"
        yield (
            PossibleCause(cause, FEWER_CHANNELS.id, f"{log}: N coll channels", True),
            {"NCCL_MAX_NCHANNELS": str(count)},
        )
    cause = "GPUs exchange through host memory (SHM), not P2P"
    yield PossibleCause(cause, P2P_UNSUPPORTED.id, f"{log}: via SHM"), {"NCCL_P2P_DISABLE": "1"}
    yield (
        PossibleCause("NVLink SHARP (NVLS) is not used", "", f"{log}: NVLS multicast support"),
        {"NCCL_NVLS_ENABLE": "0"},
    )
    if nodes > 1:
        cause = "no GPUDirect RDMA: data is staged through host memory"
        yield PossibleCause(cause, PEERMEM_MISSING.id, "railgauge gdr check"), {"NCCL_NET_GDR_LEVEL": "LOC"}


def _edits(machine: Machine, nodes: int) -> Iterator[tuple[PossibleCause, list[str], list[str]]]:
    """A cause, and the edits that give a machine it."""
    nics = [names_of(one)[0] for one in machine.system.nets] if nodes > 1 else []
    gpu = names_of(machine.system.gpus[-1])[0]
    for name, what in (*((nic, "NIC") for nic in nics[:1]), (gpu, "GPU")):
        for width in (8, 4):
            cause = f"the PCIe link of a {what} runs with {width} lanes"
            yield PossibleCause(cause, PCIE_LINK_DEGRADED.id, "railgauge check"), [f"{name}.width={width}"], []
    count = 1
    while count < len(nics):
        cause = f"{count} of {len(nics)} NICs carr{'ies' if count == 1 else 'y'} the data (NCCL_IB_HCA, ports down)"
        yield PossibleCause(cause, VERBS_DEVICE_MISSING.id, "railgauge topo rdma"), [], nics[count:]
        count *= 2
    links = sum(link.integer("count", None, 1) for link in machine.topology.gpus[-1].all("nvlink"))
    cause = "a GPU with half of its NVLinks"
    yield PossibleCause(cause, NVLINK_MISSING.id, "railgauge check"), [f"{gpu}.nvlinks={links // 2}"], []
