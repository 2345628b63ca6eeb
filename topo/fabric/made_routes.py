# SPDX-License-Identifier: Apache-2.0
"""The forwarding tables that a subnet manager would give a made fabric, of any number of tiers, broken or not.

Every destination is reached on a shortest path. Of the ports that lead there a switch takes one by the place of the
destination among those that the same ports lead to (d-mod-k, as OpenSM's ftree engine), so that each uplink carries
equally many destinations.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from railgauge.topo.fabric.model import UNROUTED, FabricMap, Routes
from railgauge.topo.fabric.routing import hops_to


def with_routes(fabric: FabricMap) -> FabricMap:
    """The fabric with tables for its cables as they are; what no cable reaches has no route."""
    import numpy as np

    number = {key: place for place, key in enumerate(fabric.switches)}
    leaves = sorted(fabric.on_leaf, key=number.__getitem__)
    lids = [np.sort([one.lid or 0 for one in fabric.on_leaf[leaf]]) for leaf in leaves]
    known = [*(one.lid for one in fabric.switches.values()), *(one.lid for one in fabric.endpoints)]
    size = 1 + max(lid or 0 for lid in known)
    tables = {key: np.full(size, UNROUTED, np.uint8) for key in fabric.switches}
    for one, leaf in fabric.leaf_of.items():
        tables[leaf][one.lid or 0] = int(fabric.cable_at[one.end].other(one.end).port)
    ports = _ports(fabric)
    cables = np.zeros((len(number), len(number)))
    for key, own in ports.items():
        for _, far in own:
            cables[number[key], number[far]] += 1
    hops = hops_to(cables, np.array([number[leaf] for leaf in leaves], np.int64))
    chosen = _chosen_below(fabric, ports)
    most = max(map(len, lids), default=0)
    for key, own in ports.items():
        across = np.array([number[far] for _, far in own], np.int64)
        nearer = (hops[across] < hops[number[key]]).T
        by_port, before = np.array([port for port, _ in own], np.uint8), Counter[bytes]()
        for place in np.flatnonzero(nearer.any(axis=1)):
            usable, same = by_port[nearer[place]], nearer[place].tobytes()
            places = most * before[same] + np.arange(len(lids[place]))
            tables[key][lids[place]] = usable[places // chosen[fabric.tier_of[key]] % usable.size]
            before[same] += 1
    return replace(fabric, routes=Routes(tables=tables))


def _ports(fabric: FabricMap) -> dict[str, list[tuple[int, str]]]:
    """The ports of each switch to other switches, with these, in the order of port numbers."""
    found: dict[str, list[tuple[int, str]]] = {key: [] for key in fabric.switches}
    for cable in fabric.trunks:
        for near, far in (cable.ends, cable.ends[::-1]):
            found[near.device].append((int(near.port), far.device))
    return {key: sorted(ports) for key, ports in found.items()}


def _chosen_below(fabric: FabricMap, ports: Mapping[str, Sequence[tuple[int, str]]]) -> dict[int, int]:
    """For each tier between how many switches the tiers below it have chosen, by the same places."""
    tiers = fabric.tier_of
    found = {0: 1}
    for tier in range(max(tiers.values(), default=0)):
        above = [len({far for _, far in ports[key] if tiers[far] > tier}) for key, its in tiers.items() if its == tier]
        found[tier + 1] = found[tier] * max([1, *above])
    return found
