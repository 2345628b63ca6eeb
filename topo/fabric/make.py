# SPDX-License-Identifier: Apache-2.0
"""Makes a fabric that does not exist yet: leaves by rail, spines above, cores above these.

Node n is on leaf n // nodes-per-leaf of each rail. A leaf has as many cables to each spine of its pod, and with cores a
spine as many to each core as make its bandwidth up that down.
"""

from dataclasses import dataclass
from math import ceil

from railgauge.topo.errors import UsageError
from railgauge.topo.fabric.made_routes import with_routes
from railgauge.topo.fabric.model import Cable, End, FabricEndpoint, FabricMap, FabricSwitch
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
    """What to make. leaves, spines and cores in all; separate: each rail has spines and cores of its own.

    pods: groups of leaves and spines that only cores join. devices: a name for each rail.

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
    pods: int = 1
    cores: int = 0

    def __post_init__(self) -> None:
        for name in ("leaves", "rails", "nodes", "pods"):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name}: at least 1")
        if self.leaves % self.rails:
            raise UsageError(f"--leaves {self.leaves}: a multiple of --rails {self.rails}, as each rail has as many")
        for name, parts in (("spines", self.pods * self.networks), ("cores", self.networks)):
            if getattr(self, name) % parts:
                raise UsageError(f"--{name} {getattr(self, name)}: a multiple of {parts}, {self._of_what(name)}")
        if self.leaves_of_rail % self.pods:
            raise UsageError(f"--pods {self.pods}: a divisor of the {self.leaves_of_rail} leaves of a rail")
        if (self.pods > 1) != (self.cores > 0):
            raise UsageError("--pods and --cores go together: only cores join pods")
        if self.leaves > self.rails and not self.spines:
            raise UsageError("--spines 0: only where each rail has one leaf")
        if self.oversubscription < 1:
            raise UsageError(f"--oversubscription {self.oversubscription:g}: at least 1")
        if self.speed not in GBPS_OF_LANE:
            raise UsageError(f"--speed {self.speed}: one of {', '.join(GBPS_OF_LANE)}")
        if max(self.nodes_per_leaf + self.uplinks, self._spine_ports, self._core_ports) > MOST_PORTS:
            raise UsageError(f"a switch would need more than {MOST_PORTS} ports: more switches above it, or --separate")
        if self.leaves + self.spines + self.cores + self.storage + self.nodes * (self.rails + 1) > MOST_LIDS:
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
        return self.spines // self.networks // self.pods

    @property
    def networks(self) -> int:
        """Networks that no cable joins."""
        return self.rails if self.separate else 1

    @property
    def spine_down(self) -> int:
        """Cables from a spine to leaves."""
        return self.parallel * self.leaves // self.networks // self.pods

    @property
    def core_parallel(self) -> int:
        """Cables from a spine to each core of its network."""
        return ceil(self.spine_down / (self.cores // self.networks)) if self.cores else 0

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
        return max(RADIX, self.nodes_per_leaf + self.uplinks, self._spine_ports, self._core_ports)

    @property
    def _spine_ports(self) -> int:
        return self.spine_down + self.core_parallel * (self.cores // self.networks)

    @property
    def _core_ports(self) -> int:
        return self.core_parallel * (self.spines // self.networks)

    def _of_what(self, name: str) -> str:
        parts = [*(["rails with --separate"] if self.separate else []), *(["pods"] if name == "spines" else [])]
        return "as each has as many: " + " and ".join(parts)


def make_fabric(plan: FabricPlan) -> FabricMap:
    """The fabric of a plan, with LIDs, routes and a subnet manager on its first leaf."""
    made = _Made(plan)
    return with_routes(
        FabricMap(
            switches={one.key: one for one in made.switches},
            endpoints=tuple(made.endpoints),
            cables=tuple(made.cables),
            counters={},
            managers=frozenset([made.switches[0].key]),
        )
    )


class _Made:
    """Switches first, then rail by rail the endpoints and cables."""

    def __init__(self, plan: FabricPlan) -> None:
        self.plan = plan
        self.names = plan.node_names
        self.networks = [f"-r{rail}" for rail in range(plan.rails)] if plan.separate and plan.rails > 1 else [""]
        self.switches: list[FabricSwitch] = []
        self.endpoints: list[FabricEndpoint] = []
        self.cables: list[Cable] = []
        leaves = [
            [self._switch(f"leaf-r{rail}-{place}") for place in range(plan.leaves_of_rail)]
            for rail in range(plan.rails)
        ]
        spines = [
            [
                [self._switch(f"spine{rail}{pod}-{place}") for place in range(plan.spines_of_leaf)]
                for pod in ([f"-p{number}" for number in range(plan.pods)] if plan.pods > 1 else [""])
            ]
            for rail in self.networks
        ]
        cores = [
            [self._switch(f"core{rail}-{place}") for place in range(plan.cores // plan.networks)]
            for rail in self.networks
        ]
        storage = [self._switch(f"storage-leaf-{place}") for place in range(plan.storage)]
        self.lid = len(self.switches)
        for rail, row in enumerate(leaves):
            for node in range(plan.nodes):
                self._endpoint(node, rail, row[node // plan.nodes_per_leaf], node % plan.nodes_per_leaf + 1, plan.speed)
        below = [[row] for row in leaves] if plan.separate else [leaves]
        for rows, pods, tops in zip(below, spines, cores, strict=True):
            for number, uppers in enumerate(pods):
                each = plan.leaves_of_rail // plan.pods
                lowers = [leaf for row in rows for leaf in row[number * each : (number + 1) * each]]
                self._between(lowers, uppers, plan.parallel, plan.nodes_per_leaf)
            self._between([one for pod in pods for one in pod], tops, plan.core_parallel, plan.spine_down)
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

    def _between(self, lowers: list[FabricSwitch], uppers: list[FabricSwitch], parallel: int, used: int) -> None:
        """As many cables from each lower switch, whose first ports are in use, to each upper one."""
        for place, low in enumerate(lowers):
            for link in range(parallel):
                for number, high in enumerate(uppers):
                    up, down = used + 1 + link * len(uppers) + number, place * parallel + link + 1
                    self._cable(End(low.key, str(up)), End(high.key, str(down)), self.plan.speed)

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
