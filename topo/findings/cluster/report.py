# SPDX-License-Identifier: Apache-2.0
"""The result of a comparison of many nodes: designs, nodes that deviate, and facts without a majority."""

from dataclasses import dataclass

from railgauge.topo.findings.cluster.folder import Unread
from railgauge.topo.values.node_names import folded

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The subject of a fact: `id` as in a Change (compare/change.py), `label` for people ("" for the host), `kind`."""

    id: str
    label: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDifference:
    """Nodes where a fact differs from most: `votes` of the `of` nodes with a known value have `majority`.

    value and majority are None for absent or unreadable.
    not_captured: the nodes have the fact of no device of the kind.
    """

    nodes: Names
    subject: Subject
    what: str
    value: str | None
    majority: str | None
    votes: int
    of: int
    not_captured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A fact without a majority: each value with its nodes, the most frequent first."""

    subject: Subject
    what: str
    groups: tuple[tuple[str | None, Names], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignGroup:
    """The nodes of one design. equal: nodes without a difference between them, most nodes first."""

    nodes: Names
    description: str
    equal: tuple[Names, ...]
    differences: tuple[FactDifference, ...]
    splits: tuple[Split, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The whole result. unread: nodes that could not be read."""

    groups: tuple[DesignGroup, ...]
    unread: tuple[Unread, ...]
    warnings: tuple[str, ...]

    @property
    def differences(self) -> tuple[FactDifference, ...]:
        """Of all groups."""
        return tuple(one for group in self.groups for one in group.differences)

    @property
    def splits(self) -> tuple[Split, ...]:
        """Of all groups."""
        return tuple(one for group in self.groups for one in group.splits)


def unread_by_reason(unread: tuple[Unread, ...]) -> list[tuple[str, str]]:
    """Nodes folded, with their common reason."""
    reasons = dict.fromkeys(one.reason for one in unread)
    return [(folded(one.name for one in unread if one.reason == reason), reason) for reason in reasons]
