# SPDX-License-Identifier: Apache-2.0
"""The majority of a design: a vote on each device and each of its facts.

The reference has the attributes with the most votes. Whether those are a majority, more than half, is a property of
the vote; a reference without a majority is one group among others.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from railgauge.topo.compare.attributes import Attributes
from railgauge.topo.compare.inventory_attributes import SETTINGS
from railgauge.topo.findings.cluster.alike import Alike, Key
from railgauge.topo.findings.cluster.node import Sheet

NO_DEVICE = "no PCI device"


@dataclass(frozen=True, slots=True)
class Vote:
    """`votes` of the `of` votes are for `winner`."""

    winner: str | None
    votes: int
    of: int

    @property
    def is_majority(self) -> bool:
        """Whether it is more than half."""
        return 2 * self.votes > self.of


@dataclass(slots=True)
class _Tally:
    item: Attributes
    nodes: int = 0
    facts: dict[str, Counter[str | None]] = field(default_factory=dict)


class Ballot:
    """The votes of all nodes of one design."""

    def __init__(self, classes: Sequence[Alike]) -> None:
        self.nodes = sum(len(one.nodes) for one in classes)
        self._tallies: dict[Key, _Tally] = {}
        for one in classes:
            for key, item in one.items.items():
                tally = self._tallies.setdefault(key, _Tally(item))
                tally.nodes += len(one.nodes)
                for what, value in item.facts.items():
                    tally.facts.setdefault(what, Counter())[value] += len(one.nodes)

    def reference(self) -> Sheet:
        """The winners of the votes, one device per id, without facts that most nodes could not read."""
        elected: dict[str, _Tally] = {}
        for (_, name), tally in self._tallies.items():
            if self._is_in(tally) and (name not in elected or tally.nodes > elected[name].nodes):
                elected[name] = tally
        return tuple(map(self._elected, elected.values()))

    def _is_in(self, tally: _Tally) -> bool:
        """Whether a device belongs to the design: it is on half of the nodes or more."""
        return 2 * tally.nodes + (not is_made_up(tally.item)) > self.nodes or tally.item.kind == SETTINGS

    def _elected(self, tally: _Tally) -> Attributes:
        winners = {what: counts.most_common(1)[0][0] for what, counts in tally.facts.items()}
        return replace(tally.item, facts={what: value for what, value in winners.items() if value is not None})

    def on_fact(self, key: Key, what: str) -> Vote:
        """The vote on a fact, by the nodes that have the device."""
        counts = self._tallies[key].facts[what]
        winner, votes = counts.most_common(1)[0]
        return Vote(winner, votes, counts.total())

    def on_presence(self, key: Key) -> Vote:
        """The vote on the presence of the device: winner "present", or None for absent."""
        there = self._tallies[key].nodes
        is_there = self._is_in(self._tallies[key])
        return Vote("present" if is_there else None, there if is_there else self.nodes - there, self.nodes)


def is_made_up(item: Attributes) -> bool:
    """Whether it is an interface without a device, such as the randomly named ones of containers."""
    return item.kind == "interface" and item.facts.get("behind it") == NO_DEVICE
