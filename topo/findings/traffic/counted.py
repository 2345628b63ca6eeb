# SPDX-License-Identifier: Apache-2.0
"""The counts of all links of a host between two readings, compared with a plan and with each other."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from railgauge.topo.facts.sources.link_counters import ByteDirection, LinkCounters
from railgauge.topo.findings.traffic.passed import passed

Planned: TypeAlias = Mapping[tuple[str, ByteDirection], int]
"""Bytes of payload, by name of the link and direction."""
HEADER_BYTES = 100
"""Of a packet at most: Ethernet with VLAN and check sum 22, IPv6 40, TCP 20 and its time stamps 12; 12 of ours."""


class Counted:
    """The links of a host by name, and the traffic of each."""

    def __init__(self, planned: Planned, before: Iterable[LinkCounters], after: Iterable[LinkCounters]) -> None:
        old, new = ({one.name: one for one in reading} for reading in (before, after))
        self.planned = planned
        self.links = old | new
        self.passed = {
            (name, way): passed(old.get(name), new.get(name), way) for name in self.links for way in ByteDirection
        }
        self._above = {name: self._all_above(name) for name in self.links}

    def alike(self, name: str) -> set[str]:
        """The links that also count the bytes of this one: those above and below it, and itself."""
        return {name, *self._above[name], *(one for one, above in self._above.items() if name in above)}

    def surplus(self, name: str, way: ByteDirection) -> int:
        """The bytes beyond the plan and all headers; 0 if unknown."""
        one = self.passed[name, way]
        headers = HEADER_BYTES * (one.packets or 0)
        return max((one.bytes or 0) - self.planned.get((name, way), 0) - headers, 0)

    def elsewhere(self, name: str, way: ByteDirection, missing: int) -> dict[str, int]:
        """The links that carried the missing bytes of one beyond their own plan; the most first, {} for less than
        half of them.
        """
        others = self.links.keys() - self.alike(name)
        found = {one: extra for one in others if (extra := self.surplus(one, way)) >= missing / 10}
        ordered = dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
        return ordered if sum(ordered.values()) >= missing / 2 else {}

    def _all_above(self, name: str) -> frozenset[str]:
        found: set[str] = set()
        todo = [name]
        while todo:
            link = self.links.get(todo.pop())
            new = set(link.above if link else ()) - found
            found |= new
            todo += new
        return frozenset(found)
