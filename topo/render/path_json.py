# SPDX-License-Identifier: Apache-2.0
"""Paths as entries of the JSON document railgauge/paths/1."""

from collections.abc import Mapping, Sequence
from typing import Any

from railgauge.topo.nccl.graph.model import Link
from railgauge.topo.nccl.paths.explanation import Explanation
from railgauge.topo.nccl.paths.gpudirect import GpuDirect
from railgauge.topo.nccl.paths.paths import Path
from railgauge.topo.nccl.paths.peer_access import PeerAccess
from railgauge.topo.render.path_text import NO_FAULTS, why


def entry(source: str, target: str, path: Path) -> dict[str, Any]:
    """One path."""
    return {"from": source, "to": target, **_figures(path), "via": list(path.via)}


def explained(explanation: Explanation, faults: Mapping[Link, Sequence[str]] = NO_FAULTS) -> dict[str, Any]:
    """One path with why it is so and what NCCL does with it; p2p and gdr are null where they do not apply.

    faults: what is wrong with links of the path.
    """
    both = (("send", explanation.sending), ("receive", explanation.receiving))
    return {
        **entry(explanation.source.id, explanation.target.id, explanation.path),
        "why": why(explanation),
        "wired": _figures(explanation.wired),
        "limit": [_limit(link) for link in explanation.limits],
        "faults": [
            {"from": link.source, "to": link.target, "fault": text} for link, texts in faults.items() for text in texts
        ],
        "p2p": _peer(explanation.peer, asked=explanation.asked) if explanation.peer else None,
        "gdr": {way: _gdr(one) for way, one in both if one} or None,
    }


def _figures(path: Path) -> dict[str, Any]:
    return {"type": path.type, "hops": path.hops, "gb_per_s": path.gb_per_s}


def _limit(link: Link) -> dict[str, Any]:
    return {"from": link.source, "to": link.target, "origin": link.origin, "assumed": link.assumed}


def _peer(peer: PeerAccess, *, asked: bool) -> dict[str, Any]:
    level = {"distance": peer.distance, "level": peer.level.type, "level_from": peer.level.source}
    known = {"relay": peer.relay, "stops": peer.stops, "nvml_asked": asked}
    return {"allowed": peer.allowed, "rule": peer.rule, **level, **known}


def _gdr(gdr: GpuDirect) -> dict[str, Any]:
    level = {"distance": gdr.distance, "level": gdr.level.type, "level_from": gdr.level.source}
    return {"on": gdr.on, "failed": gdr.failed, **level, "relay": gdr.relay, "pci_mapping": gdr.pci_mapping}
