# SPDX-License-Identifier: Apache-2.0
"""Whether NCCL uses P2P between two GPUs, and which rule or setting decides (`ncclTopoCheckP2p`, 2.30)."""

from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from railgauge.topo.nccl.graph.model import PATH_TYPES, Node, NodeKind
from railgauge.topo.nccl.paths.path_search import NVB, NVL, Route
from railgauge.topo.nccl.paths.route_table import RouteTable
from railgauge.topo.nccl.settings.levels import Levels, PathTypeLimit

SMALL_AMD_HOST = 2  # GPUs up to which P2P crosses AMD CPUs
DO_NOT_ASK_NVML = 2  # NCCL_IGNORE_DISABLED_P2P


class PeerRule(StrEnum):
    """The rule that decides on P2P."""

    NEAR = "near"
    TOO_FAR = "too-far"
    DENIED = "denied"
    OTHER_HOST = "other-host"


class PeerAccess(NamedTuple):
    """The decision: `distance` is the path type by the physical links, `level` the furthest one allowed.

    relay: the card between the two whose NVLinks carry the data (NVB). stops: NCCL does not start, because
    NVML denies P2P between GPUs that have NVLink.
    """

    allowed: bool
    rule: PeerRule
    distance: str
    level: PathTypeLimit
    relay: str | None = None
    stops: bool = False


class PeerRules(NamedTuple):
    """The rules for all pairs of a machine. `denied`: pairs of ids without peer access by NVML."""

    level: PathTypeLimit
    denied: frozenset[tuple[str, str]]
    ignored: int

    def access(self, table: RouteTable, source: Node, target: Node) -> PeerAccess:
        """The decision for one pair."""
        route = table.wired(source, target)
        relay = relay_of(route)
        rule = self._rule(table, source, target, route, relay)
        return PeerAccess(
            allowed=rule is PeerRule.NEAR,
            rule=rule,
            distance=PATH_TYPES[route.kind],
            level=self.level,
            relay=relay,
            stops=rule is PeerRule.DENIED and route.kind <= NVB and self.ignored == 0,
        )

    def _rule(self, table: RouteTable, source: Node, target: Node, route: Route, relay: str | None) -> PeerRule:
        if source.system != target.system and route.kind > NVL:
            return PeerRule.OTHER_HOST  # only the NVLinks of one fabric reach another host
        if route.kind > self.level.rank:
            return PeerRule.TOO_FAR
        asked = source.system == target.system and not table.same_card(source, target)
        if asked and self.ignored != DO_NOT_ASK_NVML and self._denied(table, source, target, relay):
            return PeerRule.DENIED
        return PeerRule.NEAR

    def _denied(self, table: RouteTable, source: Node, target: Node, relay: str | None) -> bool:
        middle = table.gpu_on(relay) if relay else None
        hops = (source, middle, target) if middle else (source, target)
        return any((one.id, other.id) in self.denied for one, other in pairwise(hops))


def peer_rules(table: RouteTable, levels: Levels, denied: frozenset[tuple[str, str]]) -> PeerRules:
    """The rules of a machine: up to PXB, over AMD CPUs too with at most two GPUs, or as set by the user."""
    cpu = table.cpus[0] if table.cpus else None
    level = PathTypeLimit(type="PXB", source="NCCL's default")
    if cpu and cpu.arch == "x86_64" and cpu.vendor == "AuthenticAMD" and len(table.cards) <= SMALL_AMD_HOST:
        level = PathTypeLimit(type="SYS", source="NCCL's default for two GPUs or fewer on AMD CPUs")
    return PeerRules(level=levels.p2p or level, denied=denied, ignored=levels.ignore_denied_p2p)


def relay_of(route: Route) -> str | None:
    """The card in the middle of GPU, card, card, card, GPU; None for any other route."""
    middle = route.links[1].target if route.hops == 4 else ""
    return middle if middle.startswith(f"{NodeKind.DEV}/") else None
