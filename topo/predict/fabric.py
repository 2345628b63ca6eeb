# SPDX-License-Identifier: Apache-2.0
"""The switches between nodes: how far a message travels, and how much traffic shares the spines.

Two levels (leaf and spine) while their ports suffice, then a third. Half of a leaf's ports go to NICs without
oversubscription; with oversubscription R, R of R + 1. Nodes are numbered leaf by leaf, so that neighbours
share one.

    rail      each NIC index of a node has its own leaves (rails): as many nodes per leaf as it has ports
    fat-tree  all NICs of a node are on one leaf
    flat      one switch for all
"""

from dataclasses import dataclass
from enum import StrEnum

from railgauge.topo.channels.limiting_cable import CableOf, LimitingCable, Nets, PairCableOf, Sent
from railgauge.topo.errors import UsageError

RADIX = 64  # ports of a switch: NVIDIA Quantum-2 (QM9700) and Spectrum-4 at 400G have 64
# Through one more switch, assumed: 0.13 us port to port (data sheet of NVIDIA QM8700), 20 m of cable at 5 ns a metre.
HOP_US = 0.25


class FabricKind(StrEnum):
    """How NICs are wired to leaves."""

    RAIL = "rail"
    FAT_TREE = "fat-tree"
    FLAT = "flat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """The parameters; `oversubscription` is a leaf's ports to NICs over those to spines, in bandwidth."""

    kind: FabricKind = FabricKind.FLAT
    oversubscription: float = 1.0
    hop_us: float = HOP_US
    radix: int = RADIX

    def __post_init__(self) -> None:
        if not 1 <= self.oversubscription <= self.radix - 1:
            raise UsageError(f"--oversubscription {self.oversubscription:g}: out of range 1..radix - 1")
        if not 0 <= self.hop_us <= 1e3:
            raise UsageError(f"--hop-latency {self.hop_us:g}: out of range 0..1000 us")
        if not 4 <= self.radix <= 4096:
            raise UsageError(f"--radix {self.radix}: out of range 4..4096 ports")

    def nodes_per_leaf(self, nics: int, nodes: int) -> int:
        """How many nodes of `nics` NICs have their (rail's) NICs on one leaf."""
        if self.kind is FabricKind.FLAT:
            return nodes
        ports = int(self.radix * self.oversubscription / (self.oversubscription + 1))
        return max(1, ports if self.kind is FabricKind.RAIL else ports // max(1, nics))

    def levels(self, nics: int, nodes: int) -> int:
        """1, 2 or 3 levels of switches, by how many NICs the leaves and pods of leaves hold."""
        below = self.nodes_per_leaf(nics, nodes)
        if nodes <= below:
            return 1
        leaves = -(-nodes // below) * (nics if self.kind is FabricKind.RAIL else 1)
        return 2 if leaves <= self.radix else 3

    def far_us(self, nics: int, nodes: int) -> float:
        """The latency in us that a message over the top level adds to one through a single switch."""
        return 2 * (self.levels(nics, nodes) - 1) * self.hop_us

    def spine_share(self, upward: float) -> float:
        """The share of its speed that traffic keeps if the share `upward` of what enters a leaf goes to the spines."""
        return min(1.0, 1.0 / (self.oversubscription * upward)) if upward > 0 else 1.0

    def cable(self, nodes: int, nets: Nets, *, trees: bool) -> LimitingCable | None:
        """The cable that limits channels; None where cables are not known one by one."""
        return None

    def pair_cable(self, nodes: int, sent: Sent, *, to_all: bool) -> LimitingCable | None:
        """The cable that limits messages in pairs; None where cables are not known one by one."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFabric(Fabric):
    """One that files describe (topo/fabric): nodes below a leaf, tiers of switches and cables are as they are there."""

    per_leaf: int
    tiers: int
    cable_of: CableOf
    pair_cable_of: PairCableOf

    def nodes_per_leaf(self, nics: int, nodes: int) -> int:
        """As known."""
        return self.per_leaf

    def levels(self, nics: int, nodes: int) -> int:
        """As known, and one for the nodes of one leaf."""
        return 1 if nodes <= self.per_leaf else self.tiers

    def cable(self, nodes: int, nets: Nets, *, trees: bool) -> LimitingCable | None:
        """As the files say."""
        return self.cable_of(nodes, nets, trees)

    def pair_cable(self, nodes: int, sent: Sent, *, to_all: bool) -> LimitingCable | None:
        """As the files say."""
        return self.pair_cable_of(nodes, sent, to_all)


ONE_SWITCH = Fabric()
