# SPDX-License-Identifier: Apache-2.0
"""Rails, planes and roles, by how leaves group the ports of nodes.

A rail is the set of leaves on which nodes have the same of their devices. The networks of one rail that no cable joins
are its planes. A rail is for storage if other hosts than those of the other rails are on it, or if it is slower; at
MANAGEMENT_GB_PER_S or less it is for management; else it is for compute.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from railgauge.topo.fabric.model import FabricEndpoint, FabricMap
from railgauge.topo.values.number import natural

MANAGEMENT_GB_PER_S = 25 / 8
DOMINANT = 0.5
"""Of the most frequent device of a leaf: devices seen at least that often belong there, others are miswired."""


class RailRole(StrEnum):
    """What a rail is for."""

    COMPUTE = "compute"
    STORAGE = "storage"
    MANAGEMENT = "management"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rail:
    """A rail: its number among those of its role (by the names of the devices), its plane, the leaves, the devices.

    plane: None where a rail has one network only. gb_per_s: of one port of most nodes, None if unknown.
    """

    number: int
    role: RailRole
    devices: tuple[str, ...]
    leaves: tuple[str, ...]
    plane: int | None = None
    gb_per_s: float | None = None

    @property
    def name(self) -> str:
        """Rail 3, rail 3 plane 1, storage 0."""
        kind = "rail" if self.role is RailRole.COMPUTE else str(self.role)
        return f"{kind} {self.number}" + (f" plane {self.plane}" if self.plane is not None else "")


@dataclass(frozen=True, kw_only=True)
class FabricRails:
    """All rails of a fabric. separate: whether nodes have their devices on different leaves, as rails are meant to."""

    rails: tuple[Rail, ...]
    separate: bool

    @cached_property
    def of_leaf(self) -> Mapping[str, Rail]:
        """The rail of each leaf."""
        return {leaf: rail for rail in self.rails for leaf in rail.leaves}

    @property
    def compute(self) -> tuple[Rail, ...]:
        """Those that NCCL should use."""
        return tuple(rail for rail in self.rails if rail.role is RailRole.COMPUTE)


def base(one: FabricEndpoint) -> str:
    """The device without its port: mlx5_0 of mlx5_0:2."""
    return one.device.partition(":")[0]


def find_rails(fabric: FabricMap) -> FabricRails:
    """The rails of a fabric."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for leaf, ones in fabric.on_leaf.items():
        groups.setdefault(_dominant(ones), []).append(leaf)
    found = []
    full = _on_several(fabric, groups)
    most = max((_speed(fabric, leaves) or 0.0 for leaves in groups.values()), default=0.0)
    roles: Counter[RailRole] = Counter()
    for devices in sorted(groups, key=lambda names: [natural(name) for name in names]):
        leaves = sorted(groups[devices], key=lambda leaf: natural(fabric.switches[leaf].name))
        speed = _speed(fabric, leaves)
        role = _role(fabric, leaves, full, speed, most)
        planes = _planes(fabric, leaves)
        for plane, part in enumerate(planes):
            found.append(
                Rail(
                    number=roles[role],
                    role=role,
                    devices=devices,
                    leaves=tuple(part),
                    plane=plane if len(planes) > 1 else None,
                    gb_per_s=speed,
                )
            )
        roles[role] += 1
    order = list(RailRole)
    return FabricRails(
        rails=tuple(sorted(found, key=lambda rail: (order.index(rail.role), rail.number, rail.plane or 0))),
        separate=sum(rail.role is RailRole.COMPUTE for rail in found) > 1,
    )


def _dominant(ones: Iterable[FabricEndpoint]) -> tuple[str, ...]:
    """The devices that most nodes of a leaf have on it."""
    counts = Counter(base(one) for one in ones)
    least = max(counts.values()) * DOMINANT
    return tuple(sorted((name for name, count in counts.items() if count > least), key=natural))


def _on_several(fabric: FabricMap, groups: Mapping[tuple[str, ...], list[str]]) -> set[str]:
    """The nodes that are on more than one group of leaves."""
    seen: Counter[str] = Counter()
    for leaves in groups.values():
        seen.update({one.node for leaf in leaves for one in fabric.on_leaf[leaf]})
    return {node for node, count in seen.items() if count > 1}


def _speed(fabric: FabricMap, leaves: Iterable[str]) -> float | None:
    speeds = Counter(
        cable.gb_per_s
        for leaf in leaves
        for one in fabric.on_leaf[leaf]
        if (cable := fabric.cable_at[one.end]).gb_per_s
    )
    return speeds.most_common(1)[0][0] if speeds else None


def _role(fabric: FabricMap, leaves: Iterable[str], full: set[str], speed: float | None, most: float) -> RailRole:
    if speed is not None and speed < most:
        return RailRole.MANAGEMENT if speed <= MANAGEMENT_GB_PER_S else RailRole.STORAGE
    nodes = {one.node for leaf in leaves for one in fabric.on_leaf[leaf] if one.named}
    return RailRole.STORAGE if full & nodes and len(nodes - full) * 10 > len(nodes) else RailRole.COMPUTE


def _planes(fabric: FabricMap, leaves: list[str]) -> list[list[str]]:
    """The leaves by plane: by network, if some node has ports of one device in two of them."""
    parts: dict[int, list[str]] = {}
    for leaf in leaves:
        parts.setdefault(fabric.network_of[leaf], []).append(leaf)
    seen: dict[tuple[str, str], set[int]] = {}
    for number, part in parts.items():
        for one in (one for leaf in part for one in fabric.on_leaf[leaf]):
            seen.setdefault((one.node, base(one)), set()).add(number)
    several = sum(len(numbers) > 1 for numbers in seen.values())
    return list(parts.values()) if several * 2 > len(seen) else [leaves]


def rail_of(fabric: FabricMap, rails: FabricRails, one: FabricEndpoint) -> Rail | None:
    """The rail of the leaf that an endpoint is on."""
    return rails.of_leaf.get(fabric.leaf_of.get(one, ""))
