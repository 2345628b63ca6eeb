# SPDX-License-Identifier: Apache-2.0
"""A virtual machine's flat tree: every GPU right below one CPU without NUMA node, where no real board is built so.

NCCL then counts one shared host bridge, and takes every GPU to be equally far from every NIC. A workstation may have
no NUMA nodes either, so it takes a second sign: link widths that nobody tells, NVSwitches that cannot be seen, or more
GPUs than one socket's root ports carry.
"""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import VM_FLAT_TOPOLOGY
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.elements import PlacedElement, TopoFile
from railgauge.topo.findings.topology_file.rule import TopologyFileRule

UNSEEN = "fffffff:"  # NVML's bus id of an NVSwitch that the guest does not see
MOST_OF_A_SOCKET = 4


def _check(file: TopoFile) -> Iterator[Finding]:
    gpus = [pci for pci in file.all("pci") if pci.is_gpu]
    if len(gpus) > 1 and all(_numaless(gpu) for gpu in gpus) and (sign := _sign(gpus)):
        yield RULE.at(
            gpus[0],
            Level.WARN,
            f"all {len(gpus)} GPUs hang on a CPU without NUMA node and on no PCI switch, and {sign}",
            subject=file.topology.path or "",
            effect="no NIC is near to a GPU: every path between them is PHB, so GPUDirect RDMA stays off",
            gpus=[gpu.bus_id for gpu in gpus],
        )


def _numaless(gpu: PlacedElement) -> bool:
    above = gpu.around[-1]
    return above.name == "cpu" and above.get("numaid") == "-1"


def _sign(gpus: list[PlacedElement]) -> str | None:
    """What else tells a guest from a workstation."""
    if not any(gpu.number("link_width") for gpu in gpus):
        return "no link tells its width"
    if any((link.get("target") or "").startswith(UNSEEN) for gpu in gpus for link in gpu.below("nvlink")):
        return "their NVSwitches cannot be seen"
    return "so many need several sockets" if len(gpus) > MOST_OF_A_SOCKET else None


RULE = TopologyFileRule(card=VM_FLAT_TOPOLOGY, check=_check)
