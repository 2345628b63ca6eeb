# SPDX-License-Identifier: Apache-2.0
"""How a fault would be undone: edits of what_if.py, and ports that would be up."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.topo.compare.restored import LostPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The repair of what is wrong with the subject of a finding.

    sets: edits, such as "0000:18:00.0.width=16". ports: RDMA ports by device and number, with the rate they come up at.
    lost: the place of a lost device that would be back. id: of the finding (`repairs` sets it).
    """

    subject: str
    sets: tuple[str, ...] = ()
    ports: Mapping[tuple[str, int], str] = field(default_factory=dict)
    lost: LostPlace | None = None
    id: str = ""

    @property
    def edits(self) -> tuple[str, ...]:
        """All of it in words."""
        back = [f"{self.subject} back"] if self.lost else []
        return (*self.sets, *(f"{device}:{number} up" for device, number in self.ports), *back)


NO_REPAIR = Repair(subject="")
