# SPDX-License-Identifier: Apache-2.0
"""Paths (railgauge/paths/1). In words: each hop, its bandwidth and its origin, the reason of the type, and NCCL's
decisions on P2P and GPUDirect RDMA, with the rule or setting that decides.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from railgauge.topo.nccl.graph.ends import named
from railgauge.topo.nccl.graph.model import Link, Node, NodeKind
from railgauge.topo.nccl.paths.explanation import Explanation
from railgauge.topo.nccl.paths.gpudirect import GdrCondition, GpuDirect
from railgauge.topo.nccl.paths.overhead import INTEL_OVERHEAD, REVERSE_SHARE
from railgauge.topo.nccl.paths.paths import Path
from railgauge.topo.nccl.paths.peer_access import PeerAccess, PeerRule
from railgauge.topo.render.names import net_name, speed_text
from railgauge.topo.render.wrapping import fitting

NO_FAULTS: Mapping[Link, Sequence[str]] = MappingProxyType({})
NO_NAMES: Mapping[str, str] = MappingProxyType({})


def describe(
    explanation: Explanation,
    faults: Mapping[Link, Sequence[str]] = NO_FAULTS,
    names: Mapping[str, str] = NO_NAMES,
) -> str:
    """Lines of text about one path: the answer, one line per hop, and notes.

    `faults`: of its links. `names`: the names of nodes by id (ends.text_names); without them NCCL's ids are printed.
    """
    path = explanation.path
    start, end = (names.get(node.id) or node_text(node) for node in (explanation.source, explanation.target))
    ends = f"{start} -> {end}"
    hops = [_hop(link, link in explanation.limits, faults.get(link, ()), names) for link in path.links]
    notes = [f"{key}: {named(text, names)}" for key, text in notes_of(explanation)]
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
        notes.append(("overhead", f"Intel's PCI root splits what a GPU sends: each GB/s takes {load}"))
    if explanation.reverse:
        share = f"{REVERSE_SHARE:g} GB/s"
        notes.append(("overhead", f"a write into a GPU before sm 80: each GB/s takes {share} of the reverse links"))
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


def _hop(link: Link, limits: bool, faults: Sequence[str], names: Mapping[str, str]) -> str:
    marks = [f"[{link.origin}{' - assumed' if link.assumed else ''}]"] if link.origin else []
    marks += [f"<- now {speed_text(link.real_gb_per_s)}"] if link.now else []
    marks += ["<- limits"] if limits else []
    marks += [f"<- {fault}" for fault in faults]
    wire = named(f"{link.source} -> {link.target}", names)
    return f"{link.kind:<3} {speed_text(link.gb_per_s):>12}  {wire:<32} {' '.join(marks)}".rstrip()


def _summary(path: Path) -> str:
    hops = f"{path.hops} hop{'' if path.hops == 1 else 's'}"
    return ", ".join(filter(None, (path.type, hops, speed_text(path.gb_per_s), now_text(path))))


def now_text(path: Path) -> str:
    """What a path runs at where NCCL plans with more; else ""."""
    return f"now {speed_text(path.real_gb_per_s)}" if path.real_gb_per_s < path.gb_per_s else ""


def _relay(explanation: Explanation) -> str:
    found = explanation.sending.relay if explanation.sending else None
    return found or "another GPU"


def _net_reason(explanation: Explanation) -> str:
    if explanation.source.system != explanation.target.system:
        return "the GPUs are on two hosts: only the network connects them"
    return f"both GPUs reach a NIC faster than the {speed_text(explanation.path.gb_per_s)} between them"


GDR_FAILED = {
    GdrCondition.NIC: "the NIC does not support it: a socket, or neither a peer-memory module nor DMA-BUF",
    GdrCondition.GPU: "the GPU does not support it",
    GdrCondition.READ_DISABLED: "NCCL_NET_GDR_READ=0",
    GdrCondition.OLD_GPU: "a GPU before sm 80 needs NVLink to another GPU (NCCL_NET_GDR_READ=1 overrides)",
}


def peer_text(peer: PeerAccess, *, asked: bool = True) -> str:
    """Whether P2P is used, and why; `asked`: NVML reported the peer access, which no topology file has."""
    level = f"{peer.level.type} ({peer.level.source})"
    relay = f", over the NVLinks of {peer.relay}" if peer.allowed and peer.relay else ""
    why = {
        PeerRule.NEAR: f"yes: {peer.distance} is within {level}{relay}",
        PeerRule.TOO_FAR: f"no: {peer.distance} is beyond {level}",
        PeerRule.DENIED: "no: NVML denies peer access between the two",
        PeerRule.OTHER_HOST: "no: the GPUs are on two hosts, with no NVLink between them",
    }[peer.rule]
    stops = "; NCCL stops with an error because they have NVLink (NCCL_IGNORE_DISABLED_P2P=1 overrides)"
    unknown = "; unless NVML denies peer access, which is unknown here (--no-p2p assumes so)"
    return why + (stops if peer.stops else "") + (unknown if peer.allowed and not asked else "")


def gdr_text(gdr: GpuDirect) -> str:
    """Whether GPUDirect RDMA is used, and the first condition that fails."""
    level = f"{gdr.level.type} ({gdr.level.source})"
    near = f"; measured from {gdr.relay}, which relays (PXN)" if gdr.relay else ""
    if gdr.failed is GdrCondition.TOO_FAR:
        return f"off: {gdr.distance} is beyond {level}{near}"
    if gdr.failed is not None:
        return f"off: {GDR_FAILED[gdr.failed]}"
    mapping = "; its memory is mapped over PCI, not over the chip-to-chip link" if gdr.pci_mapping else ""
    return f"on: {gdr.distance} is within {level}{near}{mapping}"


def listing(
    rows: Iterable[tuple[str, str, Path]], names: Mapping[str, str], width: int | None, start: str | None = None
) -> list[str]:
    """A line for each path, or for those from `start`; not from a device to itself or to the ports of its card.

    `names` as for `describe`. The columns are those of all paths, so that a line is the same in every list.
    """
    shown = [row for row in rows if row[2].type != "LOC"]
    table = [(names.get(one, one), names.get(other, other), path.type, *_columns(path)) for one, other, path in shown]
    lines = fitting(table, width)
    return [text for text, row in zip(lines, shown, strict=True) if start in (None, row[0])]


def _columns(path: Path) -> tuple[str, str, str]:
    return f"{path.hops:>2} hops", f"{path.gb_per_s:>8g} GB/s", now_text(path)


def entry(source: str, target: str, path: Path) -> dict[str, Any]:
    """One path."""
    return {"from": source, "to": target, **_figures(path), "via": list(path.via)}


def explained(explanation: Explanation, faults: Mapping[Link, Sequence[str]] = NO_FAULTS) -> dict[str, Any]:
    """One path with its reasons and NCCL's decisions on it; p2p and gdr are null if they do not apply.

    faults: those of links of the path.
    """
    both = (("send", explanation.sending), ("receive", explanation.receiving))
    return {
        **entry(explanation.source.id, explanation.target.id, explanation.path),
        "why": why(explanation),
        "wired": _figures(explanation.wired),
        "limit": [_limit_record(link) for link in explanation.limits],
        "faults": [
            {"from": link.source, "to": link.target, "fault": text} for link, texts in faults.items() for text in texts
        ],
        "p2p": _peer_record(explanation.peer, asked=explanation.asked) if explanation.peer else None,
        "gdr": {way: _gdr_record(one) for way, one in both if one} or None,
    }


def _figures(path: Path) -> dict[str, Any]:
    return {"type": path.type, "hops": path.hops, "gb_per_s": path.gb_per_s, "real_gb_per_s": path.real_gb_per_s}


def _limit_record(link: Link) -> dict[str, Any]:
    return {"from": link.source, "to": link.target, "origin": link.origin, "assumed": link.assumed}


def _peer_record(peer: PeerAccess, *, asked: bool) -> dict[str, Any]:
    level = {"distance": peer.distance, "level": peer.level.type, "level_from": peer.level.source}
    known = {"relay": peer.relay, "stops": peer.stops, "nvml_asked": asked}
    return {"allowed": peer.allowed, "rule": peer.rule, **level, **known}


def _gdr_record(gdr: GpuDirect) -> dict[str, Any]:
    level = {"distance": gdr.distance, "level": gdr.level.type, "level_from": gdr.level.source}
    return {"on": gdr.on, "failed": gdr.failed, **level, "relay": gdr.relay, "pci_mapping": gdr.pci_mapping}
