# SPDX-License-Identifier: Apache-2.0
"""One path in words: each hop, its bandwidth and where that comes from, why the type, what NCCL does with it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from railgauge.topo.nccl.graph.model import Link, Node, NodeKind
from railgauge.topo.nccl.paths.explanation import Explanation
from railgauge.topo.nccl.paths.overhead import INTEL_OVERHEAD, REVERSE_SHARE
from railgauge.topo.nccl.paths.paths import Path
from railgauge.topo.render.decision_text import gdr_text, peer_text
from railgauge.topo.render.names import net_name
from railgauge.topo.render.wire_text import speed_text

NO_FAULTS: Mapping[Link, Sequence[str]] = MappingProxyType({})


def describe(explanation: Explanation, faults: Mapping[Link, Sequence[str]] = NO_FAULTS) -> str:
    """Lines of text about one path; the first is the answer, a line a hop follows; `faults`: of its links."""
    path = explanation.path
    ends = f"{node_text(explanation.source)} -> {node_text(explanation.target)}"
    hops = [_hop(link, link in explanation.limits, faults.get(link, ())) for link in path.links]
    notes = [f"{key}: {text}" for key, text in notes_of(explanation)]
    return "\n".join((f"{ends}: {_summary(path)}", *(f"  {line}" for line in (*hops, *notes))))


def notes_of(explanation: Explanation) -> list[tuple[str, str]]:
    """What there is to say beside the hops, by the name of each line."""
    gdr = (("GPUDirect RDMA, sending", explanation.sending), ("GPUDirect RDMA, receiving", explanation.receiving))
    notes = [(explanation.path.type, why(explanation))]
    if explanation.rewritten:
        notes.append(("as the wires are", _summary(explanation.wired)))
    if explanation.peer:
        notes.append(("P2P", peer_text(explanation.peer, asked=explanation.asked)))
    notes += [(name, gdr_text(one)) for name, one in gdr if one]
    if explanation.small_packets:
        load = f"{INTEL_OVERHEAD:g} GB/s on PCI links"
        notes.append(("overhead", f"Intel's PCI root cuts what a GPU sends: each GB/s takes {load}"))
    if explanation.reverse:
        share = f"{REVERSE_SHARE:g} GB/s"
        notes.append(("overhead", f"a write into a GPU before sm 80: each GB/s takes {share} of the links back too"))
    return notes


def why(explanation: Explanation) -> str:
    """Why the type is what it is."""
    path, at = explanation.path, explanation.decider
    hop = f"{at.source} -> {at.target}" if at else ""
    through = next((link.target for link in path.links if link.target.startswith("CPU/")), "host memory")
    reason = {
        "LOC": "it stays on one card" if path.links else "it stays where it is",
        "NVL": "only NVLink is crossed",
        "NVB": "NVLink is crossed by way of another GPU",
        "C2C": f"only the chip-to-chip link {hop} is crossed",
        "PIX": "at most one PCI switch is crossed",
        "PXB": f"several PCI switches are crossed ({hop}), but no CPU",
        "P2C": f"the chip-to-chip link to {through} and its PCI root are crossed, and no NIC is nearer to the GPU",
        "PXN": f"{_relay(explanation)} relays, which is nearer to the NIC and has NVLink to the GPU",
        "PHB": f"{through} is crossed",
        "SYS": f"the wire between two CPUs is crossed ({hop})",
        "NET": _net_reason(explanation),
        "DIS": "there is no way",
    }[path.type]
    return reason + _detour(explanation)


def _detour(explanation: Explanation) -> str:
    """Why a path goes through a CPU although the wires have a nearer way."""
    if not explanation.rewritten or explanation.path.type in ("PXN", "NET", "P2C"):
        return ""
    return f", because {'P2P' if explanation.peer else 'GPUDirect RDMA'} is not used"


def node_text(node: Node) -> str:
    """A node's id, and the name that people use."""
    names = {
        NodeKind.GPU: f"GPU{node.dev}",
        NodeKind.HOST: f"rank {node.dev}",
        NodeKind.NET: net_name(node),
    }
    name = names.get(node.kind)
    return f"{node.id} ({name})" if name else node.id


def _hop(link: Link, limits: bool, faults: Sequence[str]) -> str:
    marks = [f"[{link.origin}{' - assumed' if link.assumed else ''}]"] if link.origin else []
    marks += ["<- limits"] if limits else []
    marks += [f"<- {fault}" for fault in faults]
    wire = f"{link.source} -> {link.target}"
    return f"{link.kind:<3} {speed_text(link.gb_per_s):>12}  {wire:<32} {' '.join(marks)}".rstrip()


def _summary(path: Path) -> str:
    return f"{path.type}, {path.hops} hop{'' if path.hops == 1 else 's'}, {speed_text(path.gb_per_s)}"


def _relay(explanation: Explanation) -> str:
    found = explanation.sending.relay if explanation.sending else None
    return found or "another GPU"


def _net_reason(explanation: Explanation) -> str:
    if explanation.source.system != explanation.target.system:
        return "the GPUs are on two hosts: only the network connects them"
    return f"both GPUs reach a NIC faster than the {speed_text(explanation.path.gb_per_s)} between them"
