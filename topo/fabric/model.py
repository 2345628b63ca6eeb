# SPDX-License-Identifier: Apache-2.0
"""A fabric: switches, the ports of nodes, and the cables between them.

A device is named by its key: the node GUID in 16 hex digits, a MAC address, or a name where nothing better is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from railgauge.topo.values.number import natural

if TYPE_CHECKING:
    import numpy as np


UNROUTED = 255
"""In a forwarding table: no port."""


class End(NamedTuple):
    """One end of a cable: a device by its key, and its port by number or name."""

    device: str
    port: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricSwitch:
    """A switch. ports: how many it has, 0 if unknown. lid: None before a subnet manager gave one."""

    key: str
    name: str
    ports: int = 0
    lid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FabricEndpoint:
    """A port of a node; each object is one of its own.

    address: the port GUID in 16 hex digits or the MAC address, "" if unknown.
    node and device: from the capture that has the address (`captured`), else as the fabric's tools print them; without
    a description of its node it is not `named`, and `node` is made of a GUID.
    system: the GUID that all ports of a card share, "" if unknown.
    """

    key: str
    port: str
    node: str
    device: str
    address: str = ""
    lid: int | None = None
    system: str = ""
    captured: bool = False
    named: bool = True

    @property
    def end(self) -> End:
        """Its end of its cable."""
        return End(self.key, self.port)

    @property
    def name(self) -> str:
        """Node and device: gpu003 mlx5_0."""
        return f"{self.node} {self.device}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable:
    """A cable. width in lanes and speed (NDR) are None and "" if unknown; state is "" or that of the link (Active).

    better: what both ends support beyond that, in the words of the tool; "" if nothing is known.
    """

    ends: tuple[End, End]
    gb_per_s: float | None = None
    width: int | None = None
    speed: str = ""
    state: str = ""
    better: str = ""

    def other(self, end: End) -> End:
        """The end across from one of its ends."""
        return self.ends[1] if self.ends[0] == end else self.ends[0]

    @property
    def rate(self) -> str:
        """4X NDR; 100 Gb/s without lanes; "unknown speed"."""
        if self.width and self.speed:
            return f"{self.width}X {self.speed}"
        return f"{self.gb_per_s * 8:g} Gb/s" if self.gb_per_s else "unknown speed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """Forwarding tables: for each switch an array of output ports indexed by LID, or UNROUTED."""

    tables: "Mapping[str, np.ndarray]"


@dataclass(frozen=True, kw_only=True)
class FabricMap:
    """The whole fabric.

    managers: keys of devices with a subnet manager; None if no source tells. counters: error counters by end, None if
    not read. duplicates: addresses that two devices have, with the names of these. unlisted: names of devices that
    others are cabled to, and that no file lists; cut_off says so in words if switches are among them. is_tree:
    only places of nodes are known (Slurm, clouds), and each cable stands for any number of them.
    """

    switches: Mapping[str, FabricSwitch]
    endpoints: tuple[FabricEndpoint, ...]
    cables: tuple[Cable, ...]
    routes: Routes | None = None
    counters: Mapping[End, Mapping[str, int]] | None = None
    managers: frozenset[str] | None = None
    duplicates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unlisted: tuple[str, ...] = ()
    cut_off: str = ""
    is_tree: bool = False
    warnings: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @cached_property
    def cable_at(self) -> Mapping[End, Cable]:
        """The cable of each end."""
        return {end: cable for cable in self.cables for end in cable.ends}

    @cached_property
    def endpoint_at(self) -> Mapping[End, FabricEndpoint]:
        """The endpoints by their ends."""
        return {one.end: one for one in self.endpoints}

    @cached_property
    def leaf_of(self) -> Mapping[FabricEndpoint, str]:
        """The switch that an endpoint is cabled to; without those that are cabled to none."""
        found = {}
        for one in self.endpoints:
            cable = self.cable_at.get(one.end)
            if cable and (switch := cable.other(one.end).device) in self.switches:
                found[one] = switch
        return found

    @cached_property
    def on_leaf(self) -> Mapping[str, tuple[FabricEndpoint, ...]]:
        """The endpoints of each leaf."""
        found: dict[str, list[FabricEndpoint]] = {}
        for one, leaf in self.leaf_of.items():
            found.setdefault(leaf, []).append(one)
        return {leaf: tuple(ones) for leaf, ones in found.items()}

    @cached_property
    def trunks(self) -> tuple[Cable, ...]:
        """The cables between switches."""
        known = self.switches
        return tuple(cable for cable in self.cables if cable.ends[0].device in known and cable.ends[1].device in known)

    @cached_property
    def neighbours(self) -> Mapping[str, set[str]]:
        """The switches that each is cabled to."""
        found: dict[str, set[str]] = {key: set() for key in self.switches}
        for cable in self.trunks:
            one, other = (end.device for end in cable.ends)
            found[one].add(other)
            found[other].add(one)
        return found

    @cached_property
    def network_of(self) -> Mapping[str, int]:
        """The number of the network of each switch: those that cables join have the same."""
        found: dict[str, int] = {}
        for number, key in enumerate(sorted(self.switches, key=lambda one: natural(self.switches[one].name))):
            todo = [key] if key not in found else []
            while todo:
                one = todo.pop()
                if one not in found:
                    found[one] = number
                    todo += self.neighbours[one]
        return found

    @cached_property
    def tier_of(self) -> Mapping[str, int]:
        """The tier of each switch: 0 with endpoints, else one more than its lowest neighbour; islands are 0."""
        tiers = dict.fromkeys(self.on_leaf, 0)
        row = list(tiers)
        while row:
            row = [
                other
                for key in row
                for other in sorted(self.neighbours[key])
                if other not in tiers and tiers.setdefault(other, tiers[key] + 1)
            ]
        return {key: tiers.get(key, 0) for key in self.switches}

    @cached_property
    def nodes(self) -> Mapping[str, tuple[FabricEndpoint, ...]]:
        """The endpoints of each node, by its name."""
        found: dict[str, list[FabricEndpoint]] = {}
        for one in self.endpoints:
            found.setdefault(one.node, []).append(one)
        return {node: tuple(ones) for node, ones in found.items()}

    def device_name(self, key: str) -> str:
        """What text calls a device."""
        if switch := self.switches.get(key):
            return switch.name
        return next((one.name for one in self.endpoints if one.key == key), key)

    def end_name(self, end: End) -> str:
        """leaf-1[12] for a switch's port, gpu003 mlx5_0 for a node's."""
        if one := self.endpoint_at.get(end):
            return one.name
        return f"{self.device_name(end.device)}[{end.port}]"

    def cable_name(self, cable: Cable) -> str:
        """Both ends, the node's first."""
        low, high = sorted(cable.ends, key=lambda end: end in self.endpoint_at, reverse=True)
        return f"{self.end_name(low)} - {self.end_name(high)}"
