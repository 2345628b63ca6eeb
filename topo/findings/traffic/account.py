# SPDX-License-Identifier: Apache-2.0
"""Compares the bytes planned over the links of a host with its counters between two readings.

Payload over a link is counted there: a lower count means that not all of it passed. A higher count is normal: headers,
acknowledgements, other traffic. Traffic on another link is reported only if it was counted there.
"""

from collections.abc import Mapping, Sequence

from railgauge.topo.facts.sources.link_counters import ByteDirection, CounterKind, LinkCounters
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.traffic.counted import Counted, Planned
from railgauge.topo.findings.traffic.link_traffic import LinkTraffic
from railgauge.topo.findings.traffic.passed import Passed
from railgauge.topo.values.number import natural

MEMORY = "shared memory"
ENOUGH_BYTES = 1 << 20
"""The least planned bytes that stand out from heartbeats and other programs."""
LEAST_SHARE = 0.95
"""The share of the plan that must be counted; the rest allows for drivers that count late."""
TELLING_SHARE = 0.05
"""The share of the plan from which other traffic, or traffic on a link without a plan, is reported."""
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))


def account(
    planned: Planned, before: Sequence[LinkCounters], after: Sequence[LinkCounters], host: str = ""
) -> list[LinkTraffic]:
    """The traffic of each link and direction with a plan, and of those without one if much was counted."""
    counted = Counted(planned, before, after)
    least = max(ENOUGH_BYTES, TELLING_SHARE * sum(planned.values()))
    meant = [place for place, size in planned.items() if size]
    others = [place for place, one in counted.passed.items() if not planned.get(place) and (one.bytes or 0) >= least]
    return [_traffic(counted, *place, host) for places in (meant, others) for place in sorted(places, key=_by_name)]


def size_text(size: float) -> str:
    """Bytes in powers of ten."""
    unit, name = next(pair for pair in UNITS if size >= pair[0] or pair[0] == 1)
    return f"{size / unit:.3g} {name}"


def _by_name(place: tuple[str, ByteDirection]) -> tuple[list[tuple[str, int]], bool]:
    return natural(place[0]), place[1] is ByteDirection.RECEIVED


def _traffic(counted: Counted, name: str, way: ByteDirection, host: str) -> LinkTraffic:
    link = counted.links.get(name)
    kind = link.kind if link else CounterKind.MEMORY if name == MEMORY else CounterKind.INTERFACE
    one = counted.passed.get((name, way), Passed(why=_uncounted(kind)))
    level, why, elsewhere = _judged(counted, name, way, one)
    return LinkTraffic(
        host=host,
        link=name,
        kind=kind,
        way=way,
        planned_bytes=counted.planned.get((name, way), 0),
        seen_bytes=one.bytes,
        level=level,
        why=why,
        elsewhere_bytes=elsewhere,
        packets=one.packets,
        errors=one.errors,
        dropped=one.dropped,
    )


def _uncounted(kind: CounterKind) -> str:
    return "memory has no counter" if kind is CounterKind.MEMORY else "no such counters found"


def _judged(counted: Counted, name: str, way: ByteDirection, one: Passed) -> tuple[Level, str, dict[str, int]]:
    planned = counted.planned.get((name, way), 0)
    if one.bytes is None:
        return Level.UNKNOWN, one.why, {}
    if not planned:
        return Level.INFO, _unplanned(counted, name, way), {}
    link = counted.links[name]
    if planned < ENOUGH_BYTES:
        why = f"{size_text(planned)} is too little to distinguish from other traffic: raise -e or -n"
        return Level.UNKNOWN, why, {}
    if link.wraps_at and planned >= link.wraps_at * link.unit_bytes:
        return Level.UNKNOWN, f"its counter wraps every {size_text(link.wraps_at * link.unit_bytes)}", {}
    if one.bytes >= LEAST_SHARE * planned:
        return Level.PASS, _beyond(counted.surplus(name, way), planned), {}
    if not any(count for counts in link.counts.values() for count in counts.values()):
        return Level.UNKNOWN, "its counters are still zero", {}
    missing = planned - one.bytes
    if elsewhere := counted.elsewhere(name, way, missing):
        return Level.FAIL, _another_way(way, missing, elsewhere), elsewhere
    return Level.UNKNOWN, f"{size_text(missing)} less than planned, and no other link of this host counted it", {}


def _unplanned(counted: Counted, name: str, way: ByteDirection) -> str:
    of = [one for one in sorted(counted.alike(name)) if counted.planned.get((one, way))]
    return f"counts the traffic of {', '.join(of)}" if of else "nothing was planned here"


def _beyond(surplus: int, planned: int) -> str:
    return f"and {size_text(surplus)} beyond the plan" if surplus >= TELLING_SHARE * planned else ""


def _another_way(way: ByteDirection, missing: int, elsewhere: Mapping[str, int]) -> str:
    where = ", ".join(f"{name} {way} {size_text(extra)}" for name, extra in elsewhere.items())
    return f"{size_text(missing)} of it used other links: {where} beyond the plan"
