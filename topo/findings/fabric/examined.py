# SPDX-License-Identifier: Apache-2.0
"""What the detectors of a fabric look at."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from railgauge.topo.fabric.model import FabricEndpoint, FabricMap
from railgauge.topo.fabric.rails import FabricRails, find_rails

if TYPE_CHECKING:
    from railgauge.topo.fabric.captured import CapturedPort

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class ExaminedFabric:
    """A fabric, the captured ports of its nodes, and an earlier or expected state of it."""

    fabric: FabricMap
    captured: "Mapping[FabricEndpoint, CapturedPort]" = field(default_factory=dict)
    captures: int = 0
    against: FabricMap | None = None

    @cached_property
    def rails(self) -> FabricRails:
        """The rails."""
        return find_rails(self.fabric)

    @cached_property
    def uplinks(self) -> Mapping[str, Mapping[str, str]]:
        """The ports upward of each switch that has any: the switch above, by port."""
        fabric, found = self.fabric, dict[str, dict[str, str]]()
        for cable in fabric.trunks:
            low, high = sorted(cable.ends, key=lambda end: fabric.tier_of[end.device])
            if fabric.tier_of[low.device] < fabric.tier_of[high.device]:
                found.setdefault(low.device, {})[low.port] = high.device
        return found

    @cached_property
    def leaves_at(self) -> Mapping[tuple[str, int], str]:
        """The leaf of a node on a compute rail, by its place among these; without miswired ports of other rails."""
        found = {}
        for place, rail in enumerate(self.rails.compute):
            for leaf in rail.leaves:
                for one in self.fabric.on_leaf[leaf]:
                    found[one.node, place] = leaf
        return found


def most(values: Iterable[Value]) -> Value | None:
    """The value that more than half have; None without one."""
    counts = Counter(values)
    value, count = counts.most_common(1)[0] if counts else (None, 0)
    return value if count * 2 > counts.total() else None
