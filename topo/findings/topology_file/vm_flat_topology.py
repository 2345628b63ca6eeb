# SPDX-License-Identifier: Apache-2.0
"""A virtual machine's flat tree: every GPU directly below one CPU without NUMA node, unlike any real board.

NCCL then counts one shared host bridge, and the same distance from every GPU to every NIC. A workstation may have
no NUMA nodes either, so a second sign is required: unknown link widths, NVSwitches that are not visible, or more
GPUs than one socket's root ports support.
"""

from collections.abc import Iterator

from railgauge.topo.facts import pci_devices
from railgauge.topo.findings.cards.topology_file import VM_FLAT_TOPOLOGY
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.values.busid import to_number
from railgauge.topo.values.pci_class import NVSWITCH
from railgauge.topo.xml.placed_element import PlacedElement

UNSEEN = "fffffff:"  # NVML's bus id of an NVSwitch that the VM does not see
MOST_OF_A_SOCKET = 4


def _check(file: Machine) -> Iterator[Finding]:
    gpus = [pci for pci in file.topology.placed("pci") if pci.is_gpu]
    if len(gpus) > 1 and all(_numaless(gpu) for gpu in gpus) and (sign := _sign(file, gpus)):
        costs = _costs(file, gpus)
        yield RULE.at(
            gpus[0],
            Level.WARN if costs else Level.INFO,
            f"all {len(gpus)} GPUs are on a CPU without NUMA node, without a PCI switch, and {sign}",
            subject=file.topology.path or "",
            effect=costs or "none here: the GPUs reach each other by NVLink, and there is no RDMA NIC to be near them",
            fix=bool(costs),
            gpus=[gpu.bus_id for gpu in gpus],
        )


def _numaless(gpu: PlacedElement) -> bool:
    above = gpu.around[-1]
    return above.name == "cpu" and above.get("numaid") == "-1"


def _sign(file: Machine, gpus: list[PlacedElement]) -> str | None:
    """The second sign that distinguishes a VM from a workstation."""
    if not any(gpu.number("link_width") for gpu in gpus) and _tells_widths(file):
        return "no link width is known"
    if any((link.get("target") or "").startswith(UNSEEN) for gpu in gpus for link in gpu.below("nvlink")):
        return "their NVSwitches are not visible"
    return "one socket cannot hold that many" if len(gpus) > MOST_OF_A_SOCKET else None


def _tells_widths(file: Machine) -> bool:
    """Whether a link width that is unknown is hidden from the machine: what was pasted may not say any. A topology has
    none either where a GPU's own end tells its width, and the port above it does not.
    """
    if file.facts is None or not getattr(file.reader, "pasted", ()):
        return True
    widths = {one.bus_id: one.link.max_width for one in file.facts.pci}
    return any(widths.values()) and not any(widths.get(gpu.bus_id) for gpu in pci_devices.gpus(file.facts))


def _costs(file: Machine, gpus: list[PlacedElement]) -> str:
    """What the flat tree makes slower; "" where NVLinks join all GPUs and no NIC is on PCI."""
    if any(pci.is_nic for pci in file.topology.placed("pci")):
        return "no NIC is near a GPU: every path between them is PHB, so GPUDirect RDMA stays off"
    if not all(_reaches_all(gpu, gpus) for gpu in gpus):
        return "every path between GPUs is PHB: NCCL takes shared memory where the host has a switch"
    return ""


def _reaches_all(gpu: PlacedElement, gpus: list[PlacedElement]) -> bool:
    """Whether a GPU's NVLinks lead to NVSwitches, or to each of the other GPUs."""
    links = list(gpu.below("nvlink"))
    targets = {to_number(link.get("target") or "") for link in links}
    switched = any((link.get("tclass") or "").startswith(NVSWITCH) for link in links)
    return switched or targets >= {other.key[1] for other in gpus if other is not gpu}


RULE = TopologyFileRule(card=VM_FLAT_TOPOLOGY, check=_check)
