# SPDX-License-Identifier: Apache-2.0
"""A virtual machine's flat tree: every GPU directly below one CPU without NUMA node, unlike any real board.

NCCL then counts one shared host bridge, and the same distance from every GPU to every NIC. A workstation may have
no NUMA nodes either, so a second sign is required: unknown link widths, NVSwitches that are not visible, or more
GPUs than one socket's root ports support.
"""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import VM_FLAT_TOPOLOGY
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement

UNSEEN = "fffffff:"  # NVML's bus id of an NVSwitch that the VM does not see
MOST_OF_A_SOCKET = 4


def _check(file: Machine) -> Iterator[Finding]:
    gpus = [pci for pci in file.topology.placed("pci") if pci.is_gpu]
    if len(gpus) > 1 and all(_numaless(gpu) for gpu in gpus) and (sign := _sign(gpus)):
        yield RULE.at(
            gpus[0],
            Level.WARN,
            f"all {len(gpus)} GPUs are on a CPU without NUMA node, without a PCI switch, and {sign}",
            subject=file.topology.path or "",
            effect="no NIC is near a GPU: every path between them is PHB, so GPUDirect RDMA stays off",
            gpus=[gpu.bus_id for gpu in gpus],
        )


def _numaless(gpu: PlacedElement) -> bool:
    above = gpu.around[-1]
    return above.name == "cpu" and above.get("numaid") == "-1"


def _sign(gpus: list[PlacedElement]) -> str | None:
    """The second sign that distinguishes a VM from a workstation."""
    if not any(gpu.number("link_width") for gpu in gpus):
        return "no link width is known"
    if any((link.get("target") or "").startswith(UNSEEN) for gpu in gpus for link in gpu.below("nvlink")):
        return "their NVSwitches are not visible"
    return "one socket cannot hold that many" if len(gpus) > MOST_OF_A_SOCKET else None


RULE = TopologyFileRule(card=VM_FLAT_TOPOLOGY, check=_check)
