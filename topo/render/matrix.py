# SPDX-License-Identifier: Apache-2.0
"""The matrix of `nvidia-smi topo -m`: how GPUs and NICs reach each other, with its letters, legend and affinities.

Letters come from the plain wires, before NCCL's changes. PHB and NODE are distinguished if host bridges are known,
which a topology XML does not hold.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.nccl.graph.bandwidth import nvlink_count
from railgauge.topo.nccl.graph.model import LinkKind, Node, NodeKind, System
from railgauge.topo.nccl.graph.pci_place import PciPlace, places, relation
from railgauge.topo.nccl.paths.paths import plain_paths
from railgauge.topo.render.names import nvlinks_text
from railgauge.topo.values.spans import listed
from railgauge.topo.xml.topology import Topology

LEGEND = """\
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
{between}
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks"""
BRIDGES_KNOWN = """\
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)"""
BRIDGES_UNKNOWN = """\
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU);
         nvidia-smi's NODE too, because {why}"""
NICS = "NIC Legend:"
WITHIN_SWITCH = (("PXB", "PIX"), ("PIX", "PXB"))
"""nvidia-smi's letter and NCCL's path type where only the count of bridges differs."""
MOST_NAMED = 4
AFFINITIES = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Cells by row, the first row being the header; `nics` names the NIC columns; `legend` explains the letters.

    `unknown`: what the cells do not show, and why; "" if nothing is missing. `counted_otherwise`: cells for
    which NCCL has another letter.
    """

    rows: tuple[tuple[str, ...], ...]
    nics: tuple[tuple[str, str], ...]
    legend: str
    unknown: str = ""
    counted_otherwise: tuple[str, ...] = ()


def matrix(system: System, topology: Topology, inventory: MachineFacts | None = None) -> Matrix:
    """The matrix of a System made of that topology; host ranks take the GPUs' place."""
    found = places(topology, inventory)
    gpus = sorted(system.ranks or system.gpus, key=lambda node: node.dev or 0)
    ends = [*gpus, *sorted(system.nets, key=lambda node: node.dev or 0)]
    names = [_name(node) for node in ends]
    cell = _host_cells(system) if system.kind(NodeKind.HOST) else _device_cells(system, found)
    rows = [
        (name, *(cell(node, other) for other in ends), *_affinity(system, found, inventory, node))
        for name, node in zip(names, ends, strict=True)
    ]
    nics = tuple((_name(net), net.name or "?") for net in ends[len(gpus) :])
    return Matrix(
        rows=(("", *names, *AFFINITIES), *rows),
        nics=nics,
        legend=_legend(found.values(), inventory),
        unknown=nvlinks_text(inventory),
        counted_otherwise=tuple(_counted_otherwise(system, ends, cell)),
    )


def _counted_otherwise(system: System, ends: Sequence[Node], cell: Callable[[Node, Node], str]) -> Iterator[str]:
    """The pairs below one PCIe switch that nvidia-smi and NCCL count differently: a sentence for each two letters."""
    table, pairs = plain_paths(system), dict[tuple[str, str], list[str]]()
    for one, other in combinations(ends, 2):
        letters = cell(one, other), str(table.get(one.id, other.id).type)
        if letters in WITHIN_SWITCH:
            pairs.setdefault(letters, []).append(f"{_name(one)}-{_name(other)}")
    for (theirs, ours), named in pairs.items():
        more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        yield (
            f"NCCL has {ours} for these {theirs}: {', '.join(named[:MOST_NAMED])}{more}. "
            "nvidia-smi counts each bridge of a PCIe switch; NCCL takes the chips of one switch as one."
        )


def _legend(found: Collection[PciPlace], inventory: MachineFacts | None) -> str:
    """The letters; PHB and NODE are one where there are PCI devices, but no host bridges known."""
    if any(place.bridge for place in found) or not any(place.bus_id for place in found):
        return LEGEND.format(between=BRIDGES_KNOWN)
    why = "no host bridge was found in sysfs" if inventory else "NCCL's XML holds no host bridges"
    return LEGEND.format(between=BRIDGES_UNKNOWN.format(why=why))


def _name(node: Node) -> str:
    prefix = {NodeKind.GPU: "GPU", NodeKind.HOST: "RANK"}.get(node.kind, "NIC")
    return f"{prefix}{node.dev}" if node.system == 0 else f"{prefix}{node.system}.{node.dev}"


def _host_cells(system: System) -> Callable[[Node, Node], str]:
    """Cells of host ranks, which hang on no PCI: the types of their paths."""
    table = plain_paths(system)

    def cell(node: Node, other: Node) -> str:
        kind = table.get(node.id, other.id).type
        return "X" if node.id == other.id else {"LOC": "PIX", "DIS": "N/A"}.get(kind, kind)

    return cell


def _device_cells(system: System, found: dict[tuple[int, str], PciPlace]) -> Callable[[Node, Node], str]:
    """Cells of GPUs and NICs: NVLinks where there are any, else the way over PCI."""
    cards = {link.target: system.node(link.source) for link in system.links if _is_held(system, link.source)}

    def cell(node: Node, other: Node) -> str:
        if node.id == other.id:
            return "X"
        card, peer = cards.get(node.id), cards.get(other.id)
        count = _nvlinks(system, card, peer) if card and peer else 0
        if count:
            return f"NV{count}"
        a, b = (_place(cards, found, end) for end in (node, other))
        return relation(a, b) if a and b else "N/A"

    return cell


def _is_held(system: System, source: str) -> bool:
    return system.node(source).kind in (NodeKind.DEV, NodeKind.NIC)


def _place(cards: dict[str, Node], found: dict[tuple[int, str], PciPlace], node: Node) -> PciPlace | None:
    card = cards.get(node.id, node)
    return found.get((card.system, card.bus_id or ""))


def _nvlinks(system: System, card: Node, peer: Node) -> int:
    """The number of NVLinks between two cards: directly, or through an NVSwitch as many as the poorer one has."""
    own = {link.target: link.gb_per_s for link in system.links_of(card.id) if link.kind is LinkKind.NVL}
    if peer.id in own:
        return nvlink_count(card, own[peer.id])
    switched = [key for key in own if system.node(key).kind is NodeKind.NVS]
    counts = [nvlink_count(peer, link.gb_per_s) for link in system.links_of(peer.id) if link.target in switched]
    return min(nvlink_count(card, own[switched[0]]), *counts) if counts else 0


def _affinity(
    system: System, found: dict[tuple[int, str], PciPlace], inventory: MachineFacts | None, node: Node
) -> tuple[str, str, str]:
    """CPU affinity, NUMA affinity, and the node of the GPU's own memory; NICs have none."""
    if node.kind is NodeKind.NET:
        return "", "", ""
    if node.kind is NodeKind.HOST:
        return listed(node.cpus) or "N/A", str(node.numa), ""
    place = found.get((node.system, node.bus_id or ""))
    cpu = system.kind(NodeKind.CPU)[place.cpu] if place else None
    if cpu is None:
        return "N/A", "N/A", "N/A"
    numa = "N/A" if cpu.numa is None or cpu.numa < 0 else str(cpu.numa)
    return listed(cpu.cpus) or "N/A", numa, _own_numa(inventory, node)


def _own_numa(inventory: MachineFacts | None, node: Node) -> str:
    gpu = inventory.gpu(node.bus_id) if inventory else None
    return "N/A" if gpu is None or gpu.numa is None or gpu.numa < 0 else str(gpu.numa)
