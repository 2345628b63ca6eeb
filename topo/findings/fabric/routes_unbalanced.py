# SPDX-License-Identifier: Apache-2.0
"""How many destinations the forwarding table of a switch gives to each of its uplinks."""

from collections.abc import Iterator

from railgauge.topo.fabric.model import UNROUTED, FabricMap, Routes
from railgauge.topo.findings.cards.fabric import ROUTES_UNBALANCED
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level

FACTOR = 2.0
"""Times the mean: a routing engine that does not know the topology stays below that on clean fabrics."""


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    import numpy as np

    fabric = examined.fabric
    if fabric.routes is None:
        yield RULE.unknown("fabric", "no forwarding tables: give the output of dump_fts as well")
        return
    up = examined.uplinks
    lids = np.array([one.lid for one in fabric.leaf_of if one.lid], np.int64)
    for key, table in fabric.routes.tables.items():
        ports = up.get(key)
        if not ports or len(ports) < 2:
            continue
        used = np.bincount(table[lids[lids < len(table)]], minlength=256)
        counts = {port: int(used[int(port)]) for port in ports if port.isdigit()}
        mean = sum(counts.values()) / len(counts)
        port = max(counts, key=counts.__getitem__)
        unused = mean >= FACTOR and min(counts.values()) == 0
        if mean >= 1 and (counts[port] > FACTOR * mean or (unused and counts[port] == FACTOR * mean)):
            name = fabric.switches[key].name
            yield RULE.finding(
                Level.WARN,
                f"{name}[{port}]",
                f"{name} sends {counts[port]} of {sum(counts.values())} destinations by port {port}, "
                f"{mean:.1f} would be even over {len(counts)} uplinks",
                destinations=counts[port],
                mean=round(mean, 1),
                uplinks=len(counts),
            )
    partial = _partial(fabric, fabric.routes)
    if partial:
        missing = f"{len(partial)} of {len(fabric.switches)} switches have no whole table, such as {partial[0]}"
        yield RULE.unknown("fabric", f"{missing}: the output of dump_fts is cut off, or of another time")


def _partial(fabric: FabricMap, routes: Routes) -> list[str]:
    """The switches without a table, or whose table lacks a port of their network."""
    import numpy as np

    lids: dict[int, list[int]] = {}
    for one, leaf in fabric.leaf_of.items():
        if one.lid:
            lids.setdefault(fabric.network_of[leaf], []).append(one.lid)
    needed = {network: np.array(ones) for network, ones in lids.items()}
    none, found = np.full(0, UNROUTED, np.uint8), []
    for key, switch in fabric.switches.items():
        table, those = routes.tables.get(key, none), needed.get(fabric.network_of[key])
        if those is not None and (len(table) <= those.max() or (table[those] == UNROUTED).any()):
            found.append(switch.name)
    return found


RULE = FileRule(card=ROUTES_UNBALANCED, check=_check)
