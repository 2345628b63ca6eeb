# SPDX-License-Identifier: Apache-2.0
"""One path in words: each hop, its bandwidth and its origin, the reason of the type, and how NCCL uses it."""

from collections.abc import Mapping

from railgauge.topo.nccl.graph.ends import named
from railgauge.topo.nccl.graph.model import Link, Node, NodeKind
from railgauge.topo.nccl.paths.explanation import Explanation
from railgauge.topo.nccl.paths.overhead import INTEL_OVERHEAD, REVERSE_SHARE
from railgauge.topo.nccl.paths.paths import Path
from railgauge.topo.render.decision_text import gdr_text, peer_text
from railgauge.topo.render.names import net_name
from railgauge.topo.render.wire_text import speed_text


def describe(explanation: Explanation, names: Mapping[str, str] | None = None) -> str:
    """Lines of text about one path: the answer, one line per hop, and notes.

    `names`: the names of nodes by id (ends.text_names); None prints NCCL's ids.
    """
    path, known = explanation.path, names or {}
    start, end = (known.get(node.id) or node_text(node) for node in (explanation.source, explanation.target))
    ends = f"{start} -> {end}"
    hops = [_hop(link, link in explanation.limits, known) for link in path.links]
    notes = [f"{key}: {named(text, known)}" for key, text in notes_of(explanation)]
    return "\n".join((f"{ends}: {_summary(path)}", *(f"  {line}" for line in (*hops, *notes))))


def notes_of(explanation: Explanation) -> list[tuple[str, str]]:
    """The notes below the hops, with the title of each."""
    gdr = (("GPUDirect RDMA, sending", explanation.sending), ("GPUDirect RDMA, receiving", explanation.receiving))
    notes = [(explanation.path.type, why(explanation))]
    if explanation.rewritten:
        notes.append(("physical path", _summary(explanation.wired)))
    if explanation.peer:
        notes.append(("P2P", peer_text(explanation.peer, asked=explanation.asked)))
    notes += [(name, gdr_text(one)) for name, one in gdr if one]
    if explanation.small_packets:
        load = f"{INTEL_OVERHEAD:g} GB/s on PCI links"
        notes.append(
            ("overhead", f"Intel's PCI root splits what a GPU sends into small packets: each GB/s takes {load}")
        )
    if explanation.reverse:
        share = f"{REVERSE_SHARE:g} GB/s"
        notes.append(
            ("overhead", f"a write into a GPU before sm 80: each GB/s also takes {share} of the reverse links")
        )
    return notes


def why(explanation: Explanation) -> str:
    """The reason of the path type."""
    path, at = explanation.path, explanation.decider
    hop = f"{at.source} -> {at.target}" if at else ""
    through = next((link.target for link in path.links if link.target.startswith("CPU/")), "host memory")
    reason = {
        "LOC": "both ends are on one card" if path.links else "both ends are the same",
        "NVL": "crosses NVLink only",
        "NVB": "crosses NVLinks through another GPU",
        "C2C": f"crosses only the chip-to-chip link {hop}",
        "PIX": "crosses at most one PCI switch",
        "PXB": f"crosses several PCI switches ({hop}), but no CPU",
        "P2C": f"crosses the chip-to-chip link to {through} and its PCI root; no NIC is nearer to the GPU",
        "PXN": f"relayed by {_relay(explanation)}, which is nearer to the NIC and has NVLink to the GPU",
        "PHB": f"crosses {through}",
        "SYS": f"crosses the link between two CPUs ({hop})",
        "NET": _net_reason(explanation),
        "DIS": "no path",
    }[path.type]
    return reason + _detour(explanation)


def _detour(explanation: Explanation) -> str:
    """Why a path crosses a CPU although a nearer physical path exists."""
    if not explanation.rewritten or explanation.path.type in ("PXN", "NET", "P2C"):
        return ""
    return f", because {'P2P' if explanation.peer else 'GPUDirect RDMA'} is not used"


def node_text(node: Node) -> str:
    """A node's id and its name."""
    names = {
        NodeKind.GPU: f"GPU{node.dev}",
        NodeKind.HOST: f"rank {node.dev}",
        NodeKind.NET: net_name(node),
    }
    name = names.get(node.kind)
    return f"{node.id} ({name})" if name else node.id


def _hop(link: Link, limits: bool, names: Mapping[str, str]) -> str:
    marks = [f"[{link.origin}{' - assumed' if link.assumed else ''}]"] if link.origin else []
    marks += ["<- limits"] if limits else []
    wire = named(f"{link.source} -> {link.target}", names)
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
