# SPDX-License-Identifier: Apache-2.0
"""A rule about topology files."""

from typing import Any

from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement


class TopologyFileRule(FileRule[Machine]):
    """One thing that can be wrong in a topology file."""

    __slots__ = ()

    def at(
        self, where: PlacedElement, level: Level, message: str, *, subject: str | None = None, **more: Any
    ) -> Finding:
        """A finding about an element, on its line; its subject is by default the PCI device. `more`: see `finding`."""
        return self.finding(level, subject or where.bus_id, message, line=where.line, **more)
