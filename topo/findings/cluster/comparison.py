# SPDX-License-Identifier: Apache-2.0
"""All nodes compared by design: each with the majority of its design, with the rules and words of `topo diff`.

A topology file has fewer facts than a capture: captures are compared with each other by all facts, and topology files
with all nodes by the facts of such files.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from railgauge.topo.compare.attributes import Attributes
from railgauge.topo.compare.change import Change
from railgauge.topo.compare.diff import attribute_changes, touched
from railgauge.topo.compare.inventory_attributes import SETTINGS
from railgauge.topo.findings.cluster.alike import Alike, Key, alike, with_all_settings
from railgauge.topo.findings.cluster.design import description, designs
from railgauge.topo.findings.cluster.folder import Unread
from railgauge.topo.findings.cluster.node import ClusterNode, Sheet
from railgauge.topo.findings.cluster.report import DesignGroup, FactDifference, Names, Report, Split, Subject
from railgauge.topo.findings.cluster.routes import Routed, route_changes
from railgauge.topo.findings.cluster.vote import Ballot, Vote, is_made_up
from railgauge.topo.values.node_names import folded
from railgauge.topo.values.number import natural

PRESENCE, MOVED = "presence", "id"
DRIVER_FACTS = ("known to NVML", "driver")


def compare(nodes: Sequence[ClusterNode], unread: Sequence[Unread] = ()) -> Report:
    """The differences among all nodes. The order of `nodes` does not matter."""
    captured = [(node.name, node.sheet) for node in nodes if node.sheet is not None]
    files = frozenset(node.name for node in nodes if node.sheet is None)
    paths = {node.name: node.path for node in nodes}
    groups = [_group(members, paths) for members in designs(alike(captured))]
    if files:
        described = [(node.name, node.topology) for node in nodes if node.topology is not None]
        every = [_group(members, paths) for members in designs(alike(described))]
        groups += [part for group in every if (part := _only(group, files))]
    warnings = (*_told_twice(nodes), *_alone(groups, len(nodes)))
    return Report(groups=tuple(groups), unread=tuple(unread), warnings=warnings)


@dataclass(frozen=True, slots=True)
class _Odd:
    """One change of one class against the reference, and the vote on it."""

    members: Alike
    item: Attributes | None
    change: Change
    vote: Vote


def _group(classes: Sequence[Alike], paths: dict[str, str]) -> DesignGroup:
    """One design: its nodes, the ones that deviate, and facts without a majority."""
    classes = with_all_settings(classes)
    ballot = Ballot(classes)
    reference = ballot.reference()
    odd: list[_Odd] = []
    routed: list[Routed] = []
    for members in classes:
        changes = _changes(reference, members)
        routed.append(Routed(members, paths[members.nodes[0]], touched(changes)))
        odd += [_voted(ballot, reference, members, change) for change in changes]
    odd += [_Odd(members, None, change, vote) for members, change, vote in route_changes(routed)]
    differences = _differences(one for one in odd if one.vote.is_majority)
    splits = _splits(classes, [one for one in odd if not one.vote.is_majority])
    names = tuple(sorted((name for one in classes for name in one.nodes), key=natural))
    equal = _equal(names, differences, splits)
    return DesignGroup(
        nodes=names, description=description(reference), equal=equal, differences=differences, splits=splits
    )


def _changes(reference: Sheet, members: Alike) -> tuple[Change, ...]:
    """Differences from the reference; settings only if they were captured, without interfaces of containers."""
    kinds = {item.kind for item in members.sheet}
    known = tuple(item for item in reference if item.kind != SETTINGS or SETTINGS in kinds)
    ours = {(item.kind, item.id) for item in reference}
    told = tuple(item for item in members.sheet if not is_made_up(item) or (item.kind, item.id) in ours)
    changes = attribute_changes(known, told, same_host=False)
    carriers = {item.id: _carrier(item) for item in (*known, *told)}
    lone = {change.subject for change in changes if change.what == PRESENCE}
    return tuple(one for one in changes if one.what != PRESENCE or carriers[one.subject] not in lone)


def _carrier(item: Attributes) -> str | None:
    """The device that a port or interface belongs to."""
    return item.id.partition(" port ")[0] if item.kind == "port" else item.facts.get("behind it")


def _voted(ballot: Ballot, reference: Sheet, members: Alike, change: Change) -> _Odd:
    is_new = change.what == PRESENCE and change.after is not None
    sheet = members.sheet if is_new else reference
    item = next(one for one in sheet if one.id == change.subject and (is_new or _has(one, change.what)))
    key = (item.kind, item.id)
    on_thing = change.what in (PRESENCE, MOVED)
    return _Odd(members, item, change, ballot.on_presence(key) if on_thing else ballot.on_fact(key, change.what))


def _has(item: Attributes, what: str) -> bool:
    return what in (PRESENCE, MOVED) or what in item.facts


def _subject(odd: _Odd) -> Subject:
    item, name = odd.item, odd.change.subject
    return Subject(id=item.id, label=item.label, kind=item.kind) if item else Subject(id=name, label=name, kind="path")


def _differences(odd: Iterable[_Odd]) -> tuple[FactDifference, ...]:
    """The same difference of several classes as one, in the order of the nodes."""
    found: dict[tuple[Subject, str, str | None, str | None, int, int, bool], list[str]] = {}
    for one in odd:
        values = one.change.after, one.change.before
        key = (_subject(one), one.change.what, *values, one.vote.votes, one.vote.of, _is_not_captured(one))
        found.setdefault(key, []).extend(one.members.nodes)
    differences = [
        FactDifference(
            nodes=tuple(sorted(names, key=natural)),
            subject=subject,
            what=what,
            value=value,
            majority=majority,
            votes=votes,
            of=of,
            not_captured=not_captured,
        )
        for (subject, what, value, majority, votes, of, not_captured), names in found.items()
    ]
    return tuple(sorted(differences, key=lambda one: (natural(one.nodes[0]), -len(one.nodes))))


def _is_not_captured(odd: _Odd) -> bool:
    """Whether the nodes lack the fact for every device of the kind, as captures of older releases do; without a driver
    that is a difference by itself.
    """
    what = odd.change.what
    if odd.change.after is not None or what in (PRESENCE, *DRIVER_FACTS) or odd.item is None:
        return False
    return not any(item.facts.get(what) for item in odd.members.sheet if item.kind == odd.item.kind)


def _splits(classes: Sequence[Alike], odd: Sequence[_Odd]) -> tuple[Split, ...]:
    found: dict[tuple[Subject, str], list[_Odd]] = {}
    for one in odd:
        found.setdefault((_subject(one), one.change.what), []).append(one)
    return tuple(
        Split(subject=subject, what=what, groups=_by_value(classes, (subject.kind, subject.id), what, told))
        for (subject, what), told in found.items()
    )


def _by_value(
    classes: Sequence[Alike], key: Key, what: str, told: Sequence[_Odd]
) -> tuple[tuple[str | None, Names], ...]:
    """Each value with its nodes, the most frequent first."""
    moved = {one.members.nodes: one.change.after for one in told if what == MOVED or one.item is None}
    groups: dict[str | None, list[str]] = {}
    for one in classes:
        item = one.items.get(key)
        if what == PRESENCE:
            groups.setdefault("present" if item else None, []).extend(one.nodes)
        elif one.nodes in moved or key[0] == "path":
            groups.setdefault(moved.get(one.nodes, told[0].change.before), []).extend(one.nodes)
        elif item:
            groups.setdefault(key[1] if what == MOVED else item.facts.get(what), []).extend(one.nodes)
    ranked = sorted(groups.items(), key=lambda group: (-len(group[1]), natural(min(group[1], key=natural))))
    return tuple((value, tuple(sorted(names, key=natural))) for value, names in ranked)


def _equal(names: Names, differences: Iterable[FactDifference], splits: Iterable[Split]) -> tuple[Names, ...]:
    """Nodes without a difference between them."""
    marks: dict[str, list[int]] = {name: [] for name in names}
    sets = [one.nodes for one in differences] + [nodes for split in splits for _, nodes in split.groups]
    for number, nodes in enumerate(sets):
        for name in nodes:
            marks[name].append(number)
    equal: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        equal.setdefault(tuple(marks[name]), []).append(name)
    return tuple(tuple(one) for one in sorted(equal.values(), key=lambda one: -len(one)))


def _only(group: DesignGroup, names: frozenset[str]) -> DesignGroup | None:
    """The findings of a group about some of its nodes, with the votes of all; None if it has none of them."""

    def of(nodes: Names) -> Names:
        return tuple(name for name in nodes if name in names)

    if not of(group.nodes):
        return None
    return DesignGroup(
        nodes=of(group.nodes),
        description=group.description,
        equal=tuple(kept for one in group.equal if (kept := of(one))),
        differences=tuple(replace(one, nodes=kept) for one in group.differences if (kept := of(one.nodes))),
        splits=tuple(split for split in group.splits if any(of(nodes) for _, nodes in split.groups)),
    )


def _told_twice(nodes: Iterable[ClusterNode]) -> list[str]:
    """Files of the same host: one of them is outdated."""
    hosts: dict[str, list[str]] = {}
    for node in nodes:
        hosts.setdefault(node.host, []).append(node.name)
    return [
        f"{folded(names)}: files of the same host {host}"
        for host, names in sorted(hosts.items())
        if host and len(names) > 1
    ]


def _alone(groups: Sequence[DesignGroup], nodes: int) -> list[str]:
    """Nodes that cannot be compared."""
    alone = [group for group in groups if len(group.nodes) == 1]
    if nodes == 1:
        return ["only one node: nothing to compare"]
    return [f"{group.nodes[0]} is the only node of its design ({group.description}): not compared" for group in alone]
