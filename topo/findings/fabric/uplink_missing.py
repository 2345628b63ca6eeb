# SPDX-License-Identifier: Apache-2.0
"""A switch with fewer cables to the next tier than most of its tier and rail."""

from collections import Counter
from collections.abc import Iterator, Mapping

from railgauge.topo.findings.cards.fabric import UPLINK_MISSING
from railgauge.topo.findings.fabric.examined import ExaminedFabric, most
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.number import natural

Ports = Mapping[str, Mapping[str, str]]
"""Of switches, as `ExaminedFabric.uplinks` has them."""


def groups(examined: ExaminedFabric) -> list[list[str]]:
    """The switches that should have the same cabling: leaves of one rail, higher ones of one tier and network."""
    found: dict[object, list[str]] = {}
    for key, tier in examined.fabric.tier_of.items():
        rail = examined.rails.of_leaf.get(key)
        kind = (rail.role, rail.number, rail.plane) if rail else (tier, examined.fabric.network_of[key])
        found.setdefault(kind, []).append(key)
    return list(found.values())


def _check(examined: ExaminedFabric) -> Iterator[Finding]:
    up = examined.uplinks
    of_compute = {leaf for rail in examined.rails.compute for leaf in rail.leaves}
    everywhere = most(len(up.get(key, ())) for key in of_compute)
    for group in groups(examined):
        counts = {key: len(up.get(key, ())) for key in group}
        usual = most(counts.values()) if len(group) > 2 else max(counts.values())
        if usual is None or len(group) == 1:
            usual = everywhere if group[0] in of_compute and everywhere else max(counts.values())
        for key in group:
            if counts[key] < usual:
                yield _finding(examined, key, up, [other for other in group if counts[other] >= usual], usual)


def _finding(examined: ExaminedFabric, key: str, up: Ports, others: list[str], usual: int) -> Finding:
    fabric, mine = examined.fabric, up.get(key, {})
    ports: Counter[str] = Counter(port for other in others for port in up.get(other, {}))
    above: Counter[str] = Counter()
    for other in others:
        above.update(Counter(up.get(other, {}).values()))
    lacking = usual - len(mine)
    free = [port for port in sorted(ports, key=natural) if port not in mine][:lacking]
    have = Counter(mine.values())
    spines = [
        fabric.switches[spine].name
        for spine, count in above.items()
        if others and have[spine] < round(count / len(others))
    ]
    name = fabric.switches[key].name
    where = f" at port {', '.join(free)}" if free else ""
    to = f", to {', '.join(sorted(spines, key=natural)[:4])}" if spines else ""
    return RULE.finding(
        Level.FAIL,
        f"{name}[{free[0]}]" if free else name,
        f"{name} has {len(mine)} cables upward, others {usual}: missing{where}{to}",
        effect=f"{usual} -> {len(mine)} uplinks for what leaves {name}",
        uplinks=len(mine),
        usual=usual,
        ports=free,
        switches=spines,
    )


RULE = FileRule(card=UPLINK_MISSING, check=_check)
