# SPDX-License-Identifier: Apache-2.0
"""The way of many messages at once through a fabric, as arrays: by the forwarding tables, or spread over all shortest
paths.

A directed cable is the end that sends into it; these ends are numbered.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from railgauge.topo.errors import InputError
from railgauge.topo.fabric.model import UNROUTED, End, FabricEndpoint, FabricMap

if TYPE_CHECKING:
    import numpy as np

MOST_HOPS = 64
"""As InfiniBand's directed routes; a longer path runs in a circle."""


class Routing:
    """Arrays of one fabric: `ends` by number; `gb_per_s` of each, 0 where unknown."""

    def __init__(self, fabric: FabricMap) -> None:
        import numpy as np

        self.fabric = fabric
        self.ends: list[End] = [end for cable in fabric.cables for end in cable.ends]
        self.gb_per_s = np.array([cable.gb_per_s or 0.0 for cable in fabric.cables for _ in cable.ends])
        self._number = {end: place for place, end in enumerate(self.ends)}
        self._switch = {key: place for place, key in enumerate(fabric.switches)}
        across = [
            self._switch.get(fabric.cables[place // 2].ends[1 - place % 2].device, -1)
            for place in range(len(self.ends))
        ]
        self._across = np.array(across, np.int64)
        self._sender = np.array([self._switch.get(end.device, -1) for end in self.ends], np.int64)

    def first(self, ones: Sequence[FabricEndpoint]) -> "np.ndarray":
        """The numbers of the ends by which endpoints send. InputError for one without a cable."""
        import numpy as np

        missing = next((one for one in ones if one.end not in self._number), None)
        if missing is not None:
            raise InputError(f"{missing.name} has no cable in these files")
        return np.array([self._number[one.end] for one in ones], np.int64)

    def _ends(
        self, sources: Sequence[FabricEndpoint], targets: Sequence[FabricEndpoint]
    ) -> "tuple[np.ndarray, np.ndarray]":
        """The first ends of sources and of targets. InputError for a pair on separate networks."""
        import numpy as np

        first, last = self.first(sources), self.first(targets)
        network = np.array([*(self.fabric.network_of[key] for key in self._switch), -1], np.int64)
        apart = np.flatnonzero(network[self._across[first]] != network[self._across[last]])
        if apart.size:
            names = " and ".join(ones[int(apart[0])].name for ones in (sources, targets))
            raise InputError(f"no path between {names}: they are on separate networks in these files")
        return first, last

    def walked(
        self, sources: Sequence[FabricEndpoint], targets: Sequence[FabricEndpoint]
    ) -> "Iterator[tuple[np.ndarray, np.ndarray]]":
        """Hop by hop: which messages are still on their way, and the end that each leaves by.

        By the forwarding tables. InputError where one has no port for a LID, or a path runs in a circle.
        """
        import numpy as np

        tables, ports = self._tables
        lids = np.array([one.lid or 0 for one in targets], np.int64)
        here, last = self._ends(sources, targets)
        arrived, which = last ^ 1, np.arange(len(sources))  # the other end of a cable is its neighbour in number
        for _ in range(MOST_HOPS):
            yield which, here
            going = here != arrived[which]
            which, here = which[going], here[going]
            if not which.size:
                return
            switch = self._across[here]
            port = np.where(switch >= 0, tables[switch, np.minimum(lids[which], tables.shape[1] - 1)], UNROUTED)
            here = np.where(port == UNROUTED, -1, ports[switch, port])
            lost = np.flatnonzero(here < 0)
            if lost.size:
                raise InputError(self._lost(int(switch[lost[0]]), targets[int(which[lost[0]])]))
        raise InputError(f"the route to {targets[int(which[0])].name} runs in a circle")

    def _lost(self, switch: int, target: FabricEndpoint) -> str:
        name = (
            "the NIC across"
            if switch < 0
            else next(one.name for key, one in self.fabric.switches.items() if self._switch[key] == switch)
        )
        return f"{name} has no route to {target.name} (LID {target.lid}): the files are of different times, or cut off"

    @cached_property
    def _tables(self) -> "tuple[np.ndarray, np.ndarray]":
        """Output port by switch and LID, and the number of the end by switch and port."""
        import numpy as np

        routes = self.fabric.routes
        if routes is None:
            raise InputError("no forwarding tables: give the output of dump_fts as well, or --adaptive")
        size = max((len(table) for table in routes.tables.values()), default=1)
        used = 1 + max((one.lid or 0 for one in self.fabric.endpoints), default=0)
        tables = np.full((len(self._switch), min(size, used)), UNROUTED, np.uint8)
        for key, table in routes.tables.items():
            if key in self._switch:
                tables[self._switch[key], : min(len(table), used)] = table[:used]
        ports = np.full((len(self._switch), 256), -1, np.int64)
        for place, end in enumerate(self.ends):
            if end.device in self._switch and end.port.isdigit() and int(end.port) < UNROUTED:
                ports[self._switch[end.device], int(end.port)] = place
        return tables, ports

    def loads(
        self,
        sources: Sequence[FabricEndpoint],
        targets: Sequence[FabricEndpoint],
        weights: "np.ndarray",
        *,
        adaptive: bool,
    ) -> "np.ndarray":
        """The sum of the weights of the messages that go over each end."""
        import numpy as np

        if adaptive:
            return self._spread(sources, targets, weights)
        found = np.zeros(len(self.ends))
        for which, here in self.walked(sources, targets):
            found += np.bincount(here, weights[which], minlength=len(self.ends))
        return found

    def _spread(
        self, sources: Sequence[FabricEndpoint], targets: Sequence[FabricEndpoint], weights: "np.ndarray"
    ) -> "np.ndarray":
        """Each switch sends equal parts over all cables that are on a shortest path to the target's leaf."""
        import numpy as np

        first, last = self._ends(sources, targets)
        found = np.bincount(first, weights, minlength=len(self.ends))
        found += np.bincount(last ^ 1, weights, minlength=len(self.ends))
        leaves, column = np.unique(self._across[last], return_inverse=True)
        away = np.flatnonzero((self._across[first] >= 0) & (self._across[first] != leaves[column]))
        demand = np.zeros((len(self._switch), leaves.size))
        np.add.at(demand, (self._across[first][away], column[away]), weights[away])
        trunks = np.flatnonzero((self._sender >= 0) & (self._across >= 0))
        cables = np.zeros((len(self._switch), len(self._switch)))
        np.add.at(cables, (self._sender[trunks], self._across[trunks]), 1)
        found[trunks] += _carried(cables, leaves, demand)[self._sender[trunks], self._across[trunks]]
        return found


def _carried(cables: "np.ndarray", leaves: "np.ndarray", demand: "np.ndarray") -> "np.ndarray":
    """What one cable from a switch to another carries of the demands (switch, leaf), the furthest switches first.

    cables: how many there are from each switch to each other. InputError where there is no path.
    """
    import numpy as np

    hops = hops_to(cables, leaves)
    if ((hops >= MOST_HOPS) & (demand > 0)).any():
        raise InputError("two nodes of the job have no path between them in these files")
    demand, carried = demand.copy(), np.zeros(cables.shape)
    for count in range(int(hops[demand > 0].max(initial=0)), 0, -1):
        nearer = (hops == count - 1).astype(float)
        ways = cables @ nearer
        share = np.where((hops == count) & (ways > 0), demand / np.maximum(ways, 1), 0)
        carried += share @ nearer.T
        demand += (cables.T @ share) * nearer
    return carried


def hops_to(cables: "np.ndarray", leaves: "np.ndarray") -> "np.ndarray":
    """How many hops each switch is from each of some leaves; MOST_HOPS where there is no path."""
    import numpy as np

    hops = np.full((cables.shape[0], leaves.size), MOST_HOPS, np.int64)
    row = np.zeros(hops.shape, np.float32)
    row[leaves, np.arange(leaves.size)] = 1
    beside = (cables > 0).astype(np.float32)
    for count in range(MOST_HOPS):
        new = (row > 0) & (hops == MOST_HOPS)
        if not new.any():
            break
        hops[new] = count
        row = beside @ new.astype(np.float32)
    return hops
