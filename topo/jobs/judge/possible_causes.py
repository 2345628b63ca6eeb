# SPDX-License-Identifier: Apache-2.0
"""What operators meet that makes NCCL slow, each as a change of the machine or of the settings."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from railgauge.topo.compare.what_if import edited
from railgauge.topo.errors import Error
from railgauge.topo.findings.cards.gdr import PEERMEM_MISSING
from railgauge.topo.findings.cards.gpus import NUMA_MISBOUND, P2P_UNSUPPORTED
from railgauge.topo.findings.cards.nvlink import NVLINK_MISSING
from railgauge.topo.findings.cards.parts import FEWER_CHANNELS
from railgauge.topo.findings.cards.pcie import PCIE_LINK_DEGRADED
from railgauge.topo.findings.cards.rdma import VERBS_DEVICE_MISSING
from railgauge.topo.findings.cards.settings import NCCL_SETTING_HARMFUL
from railgauge.topo.findings.cards.topology_file import VM_FLAT_TOPOLOGY
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.ends import names_of
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.staging import needs_host

CHANNELS = (1, 2, 4, 8)


class PossibleCause(NamedTuple):
    """A cause in words, the finding that explains it ("" for none), and how to be sure.

    seldom: hardly anybody makes it. seen: it is there, on the machine or on the fabric, where others only may be.
    """

    what: str
    id: str
    sure: str
    seldom: bool = False
    seen: bool = False


STAGED = PossibleCause(
    "data passes host memory: the machine has a VM's flat PCI tree, so that NCCL uses no GPUDirect RDMA or P2P",
    VM_FLAT_TOPOLOGY.id,
    "railgauge check; NCCL_DEBUG=INFO, then railgauge log explain: via NET/IB without GDRDMA, via SHM",
    seen=True,
)
BOUND = PossibleCause(
    "processes are bound to cores of another NUMA node, or several to one (mpirun binds each to a core)",
    NUMA_MISBOUND.id,
    "taskset -cp PID of each rank; mpirun --report-bindings",
    True,
)
BOUND_REACHES = 0.37
"""Share of the healthy forecast that is left where threads or buffers of the host take part: 15.2 of 41.6 GB/s between
two nodes of 4 GH200 with all ranks on the cores of the first of four sockets (uccl#956). That is not NCCL: threads that
drive RDMA as its proxies do; another phase there kept 0.76, which the error of forecasts hides. Copies alone between
host and GPU kept 0.31, 3.8 of 12.2 GB/s (gearshifft#82). No published table of NCCL has both bindings. NCCL takes of a
process's cores those next to the GPU, and leaves it on the others if there are none (`ncclTopoGetCpuAffinity` of
src/graph/topo.cc). Over NVLink alone the host takes no part.
"""
OTHER_NUMA = PossibleCause(
    "GPUs send by NICs of another NUMA node (NCCL_IB_HCA, or a VM hides the nodes)",
    "",
    "railgauge topo paths, on the host too",
    True,
)


def variants(
    machine: Machine, plan: NodePlan, in_force: Mapping[str, str]
) -> Iterator[tuple[PossibleCause, Machine, Mapping[str, str]]]:
    """Each cause, with the machine and the settings that it makes. `plan`: of the machine without any; `in_force`: what
    the run may have had set.
    """
    if in_force:
        texts = ", ".join(f"{name}={value}" for name, value in sorted(in_force.items()))
        yield (
            PossibleCause(f"settings in force: {texts}", NCCL_SETTING_HARMFUL.id, "railgauge env", seen=True),
            machine,
            in_force,
        )
    yield from ((cause, machine, settings) for cause, settings in _settings(plan.nodes))
    for cause, sets, drops in _edits(machine, plan):
        with suppress(Error):
            yield cause, replace(machine, topology=edited(machine.running, sets, drops)), {}


def shares(plan: NodePlan) -> Iterator[tuple[PossibleCause, float]]:
    """Each cause whose cost is known from published cases alone, with the share of the healthy forecast it leaves."""
    if needs_host(plan):
        yield BOUND, BOUND_REACHES


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


def _edits(machine: Machine, plan: NodePlan) -> Iterator[tuple[PossibleCause, list[str], list[str]]]:
    """A cause, and the edits that give a machine it."""
    nics = _carrying(machine, plan) if plan.nodes > 1 else []
    others = [name for net in machine.system.nets if (name := names_of(net)[0]) not in nics]
    gpu = names_of(machine.system.gpus[-1])[0]
    for name, what in (*((nic, "NIC") for nic in nics[:1]), (gpu, "GPU")):
        for width in (8, 4):
            cause = f"the PCIe link of a {what} runs with {width} lanes"
            yield PossibleCause(cause, PCIE_LINK_DEGRADED.id, "railgauge check"), [f"{name}.width={width}"], []
    count = 1
    while count < len(nics):
        cause = f"{count} of {len(nics)} NICs carr{'ies' if count == 1 else 'y'} the data (NCCL_IB_HCA, ports down)"
        yield PossibleCause(cause, VERBS_DEVICE_MISSING.id, "railgauge topo rdma"), [], [*nics[count:], *others]
        count *= 2
    links = sum(link.integer("count", None, 1) for link in machine.topology.gpus[-1].all("nvlink"))
    cause = "a GPU with half of its NVLinks"
    yield PossibleCause(cause, NVLINK_MISSING.id, "railgauge check"), [f"{gpu}.nvlinks={links // 2}"], []


def _carrying(machine: Machine, plan: NodePlan) -> list[str]:
    """The NICs that NCCL's channels take, by name."""
    taken = {net for channel in plan.graphs.ring.channels for net in channel.nets}
    return [names_of(net)[0] for net in machine.system.nets if net.dev in taken]
