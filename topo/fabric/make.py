# SPDX-License-Identifier: Apache-2.0
"""Makes a fabric that does not exist yet: leaves by rail, spines above, routes by destination.

Node n is on leaf n // nodes-per-leaf of each rail. A leaf has as many cables to each spine; destination d of a leaf
goes up by uplink d modulo their number, so that each uplink carries equally many destinations (d-mod-k, as OpenSM's
ftree engine).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from railgauge.topo.errors import UsageError
from railgauge.topo.fabric.model import UNROUTED, Cable, End, FabricEndpoint, FabricMap, FabricSwitch, Routes
from railgauge.topo.fabric.rates import GBPS_OF_LANE, gb_per_s

MOST_PORTS = 254
"""Of a switch: port numbers are a byte, 255 is none."""
MOST_LIDS = 0xBFFF
LANES = 4
RADIX = 64
"""Ports of NVIDIA's Quantum-2 (QM9700)."""
NODE_GUID, SWITCH_GUID, STORAGE_GUID = 0xB8CEF60300000000, 0xB8CEF60400000000, 0xB8CEF60500000000
SERVERS_OF_LEAF = 2
STORAGE_SPEED = "HDR"


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPlan:
    """What to make. leaves and spines in all; separate: each rail has spines of its own; devices: a name for each rail.

    storage: leaves on which each node has one more port, and storage servers have theirs.
    """

    leaves: int
    spines: int
    rails: int
    nodes: int
    oversubscription: float = 1.0
    separate: bool = False
    storage: int = 0
    speed: str = "NDR"
    devices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("leaves", "rails", "nodes"):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name}: at least 1")
        if self.leaves % self.rails:
            raise UsageError(f"--leaves {self.leaves}: a multiple of --rails {self.rails}, as each rail has as many")
        if self.separate and self.spines % self.rails:
            raise UsageError(f"--spines {self.spines}: a multiple of --rails {self.rails} with --separate")
        if self.leaves > self.rails and not self.spines:
            raise UsageError("--spines 0: only where each rail has one leaf")
        if self.oversubscription < 1:
            raise UsageError(f"--oversubscription {self.oversubscription:g}: at least 1")
        if self.speed not in GBPS_OF_LANE:
            raise UsageError(f"--speed {self.speed}: one of {', '.join(GBPS_OF_LANE)}")
        if max(self.nodes_per_leaf + self.uplinks, self._spine_ports) > MOST_PORTS:
            raise UsageError(f"a switch would need more than {MOST_PORTS} ports: more --leaves or --spines, --separate")
        if self.leaves + self.spines + self.storage + self.nodes * (self.rails + 1) > MOST_LIDS:
            raise UsageError(f"more than {MOST_LIDS} ports, which is what LIDs can name")

    @property
    def node_names(self) -> list[str]:
        """The nodes, without storage servers."""
        digits = max(3, len(str(self.nodes - 1)))
        return [f"gpu{number:0{digits}d}" for number in range(self.nodes)]

    @property
    def leaves_of_rail(self) -> int:
        """Leaves of one rail."""
        return self.leaves // self.rails

    @property
    def nodes_per_leaf(self) -> int:
        """Nodes below one leaf; the last leaf of a rail may have fewer."""
        return ceil(self.nodes / self.leaves_of_rail)

    @property
    def spines_of_leaf(self) -> int:
        """Spines that a leaf is cabled to."""
        return self.spines // self.rails if self.separate else self.spines

    @property
    def parallel(self) -> int:
        """Cables from a leaf to each of its spines."""
        if not self.spines:
            return 0
        return max(1, ceil(self.nodes_per_leaf / self.oversubscription / self.spines_of_leaf))

    @property
    def uplinks(self) -> int:
        """Cables from a leaf upward."""
        return self.parallel * self.spines_of_leaf

    @property
    def ports(self) -> int:
        """Ports of a switch: those of a common one, more where it needs them."""
        return max(RADIX, self.nodes_per_leaf + self.uplinks, self._spine_ports)

    @property
    def _spine_ports(self) -> int:
        return self.parallel * (self.leaves_of_rail if self.separate else self.leaves)


def make_fabric(plan: FabricPlan) -> FabricMap:
    """The fabric of a plan, with LIDs, routes and a subnet manager on its first leaf."""
    made = _Made(plan)
    return FabricMap(
        switches={one.key: one for one in made.switches},
        endpoints=tuple(made.endpoints),
        cables=tuple(made.cables),
        routes=routed(made.switches, made.endpoints, made.cables),
        counters={},
        managers=frozenset([made.switches[0].key]),
    )


class _Made:
    """Switches first, then rail by rail the endpoints and cables."""

    def __init__(self, plan: FabricPlan) -> None:
        self.plan = plan
        self.names = plan.node_names
        self.switches: list[FabricSwitch] = []
        self.endpoints: list[FabricEndpoint] = []
        self.cables: list[Cable] = []
        leaves = [
            [self._switch(f"leaf-r{rail}-{place}") for place in range(plan.leaves_of_rail)]
            for rail in range(plan.rails)
        ]
        groups = plan.rails if plan.separate else 1
        spines = [
            [
                self._switch(f"spine-r{group}-{place}" if groups > 1 else f"spine-{place}")
                for place in range(plan.spines_of_leaf)
            ]
            for group in range(groups)
        ]
        storage = [self._switch(f"storage-leaf-{place}") for place in range(plan.storage)]
        self.lid = len(self.switches)
        for rail, row in enumerate(leaves):
            for node in range(plan.nodes):
                self._endpoint(node, rail, row[node // plan.nodes_per_leaf], node % plan.nodes_per_leaf + 1, plan.speed)
        for rail, row in enumerate(leaves):
            for place, leaf in enumerate(row):
                self._uplinks(leaf, spines[rail if groups > 1 else 0], place if groups > 1 else rail * len(row) + place)
        for place, leaf in enumerate(storage):
            self._storage(place, leaf)

    def _switch(self, name: str) -> FabricSwitch:
        number = len(self.switches)
        one = FabricSwitch(key=f"{SWITCH_GUID + 256 * number:016x}", name=name, ports=self.plan.ports, lid=number + 1)
        self.switches.append(one)
        return one

    def _endpoint(self, node: int, place: int, leaf: FabricSwitch, port: int, speed: str) -> None:
        """Port 1 of a NIC: its GUID is one more than that of the NIC, which is what ibsim assumes."""
        plan = self.plan
        guid = NODE_GUID + 8 * (node * (plan.rails + 1) + place)
        device = plan.devices[place] if place < len(plan.devices) else f"mlx5_{place}"
        self._nic(guid, self.names[node], device, leaf, port, speed)

    def _nic(self, guid: int, node: str, device: str, leaf: FabricSwitch, port: int, speed: str) -> None:
        self.lid += 1
        key = f"{guid:016x}"
        one = FabricEndpoint(
            key=key, port="1", node=node, device=device, address=f"{guid + 1:016x}", lid=self.lid, system=key
        )
        self.endpoints.append(one)
        self._cable(one.end, End(leaf.key, str(port)), speed)

    def _uplinks(self, leaf: FabricSwitch, spines: list[FabricSwitch], place: int) -> None:
        plan = self.plan
        for link in range(plan.parallel):
            for number, spine in enumerate(spines):
                up = plan.nodes_per_leaf + 1 + link * len(spines) + number
                self._cable(End(leaf.key, str(up)), End(spine.key, str(place * plan.parallel + link + 1)), plan.speed)

    def _storage(self, place: int, leaf: FabricSwitch) -> None:
        plan = self.plan
        here = range(place, plan.nodes, plan.storage)
        for port, node in enumerate(here, 1):
            self._endpoint(node, plan.rails, leaf, port, STORAGE_SPEED)
        for server in range(SERVERS_OF_LEAF):
            number = place * SERVERS_OF_LEAF + server
            self._nic(
                STORAGE_GUID + 8 * number, f"storage{number:02d}", "mlx5_0", leaf, len(here) + 1 + server, STORAGE_SPEED
            )

    def _cable(self, one: End, other: End, speed: str) -> None:
        self.cables.append(
            Cable(ends=(one, other), width=LANES, speed=speed, gb_per_s=gb_per_s(LANES, speed), state="Active")
        )


def routed(switches: list[FabricSwitch], endpoints: list[FabricEndpoint], cables: list[Cable]) -> Routes:
    """The forwarding tables of two tiers: down by the one cable to an endpoint, up by destination."""
    import numpy as np

    size = 1 + max([one.lid or 0 for one in switches] + [one.lid or 0 for one in endpoints])
    tables = {one.key: np.full(size, UNROUTED, np.uint8) for one in switches}
    below: dict[str, list[int]] = {one.key: [] for one in switches}
    lid = {one.end: one.lid or 0 for one in endpoints}
    for cable in cables:
        for near, far in (cable.ends, cable.ends[::-1]):
            if far in lid and near.device in tables:
                tables[near.device][lid[far]] = int(near.port)
                below[near.device].append(lid[far])
    place = np.zeros(size, np.int64)
    for lids in below.values():
        place[sorted(lids)] = np.arange(len(lids))
    every = np.array(sorted(number for lids in below.values() for number in lids), np.int64)
    up, down = _between(below, cables)
    for leaf, ports in up.items():
        away = every[tables[leaf][every] == UNROUTED]
        tables[leaf][away] = np.array(ports, np.uint8)[place[away] % len(ports)]
    for spine, ways in down.items():
        for leaf, ports in ways.items():
            spines = max(1, len(up[leaf]) // len(ports))
            tables[spine][below[leaf]] = np.array(ports, np.uint8)[place[below[leaf]] // spines % len(ports)]
    return Routes(tables=tables)


def _between(
    below: Mapping[str, list[int]], cables: list[Cable]
) -> tuple[dict[str, list[int]], dict[str, dict[str, list[int]]]]:
    """The uplinks of each leaf in order, and for each spine its ports to each leaf."""
    up: dict[str, list[int]] = {}
    down: dict[str, dict[str, list[int]]] = {}
    for one, other in (cable.ends for cable in cables):
        if one.device in below and other.device in below:
            low, high = (one, other) if below[one.device] else (other, one)
            up.setdefault(low.device, []).append(int(low.port))
            down.setdefault(high.device, {}).setdefault(low.device, []).append(int(high.port))
    return {leaf: sorted(ports) for leaf, ports in up.items()}, down
