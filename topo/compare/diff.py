# SPDX-License-Identifier: Apache-2.0
"""Changes between two machines, or one machine at two times, in words; pure functions on records.

Devices are matched by bus id, else by name, and their attributes compared; a change is reported once, at its device.
Path types are reported only if no change of a device on the path explains them (path_changes.py).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from railgauge.topo.compare.attributes import Attributes, Facts, of_topology
from railgauge.topo.compare.change import Change
from railgauge.topo.compare.inventory_attributes import of_inventory
from railgauge.topo.compare.path_changes import path_changes
from railgauge.topo.machine import Machine

Key = tuple[str, str, int]
Pair = tuple[Attributes | None, Attributes | None]
UNKNOWN = "unknown"
WORDS = {
    "width": "{before} -> {after}",
    "speed": "{before} -> {after}",
    "rate": "{before} -> {after}",
    "state": "{before} -> {after}",
    "place": "{before} -> {after}",
    "NVLinks": "{before} -> {after} NVLinks",
    "known to NVML": "{before} -> {after}",
}
VALUES = {
    ("known to NVML", "yes"): "visible to NVML",
    ("known to NVML", "no"): "not visible to NVML",
}
"""Values that are shown in other words, by the name of the fact."""
SAME_LINK = ("width", "speed", "max width", "max speed")  # both ends of a link have these
INHERITED = ("NUMA node",)
IMPLIED = {"NVLink peers": "NVLinks", "physical state": "state"}  # reported only if the other is not
GDR = ("GDR module", "driver", "open kernel modules", "kernel")  # of the host; a change may change paths to NICs


def diff(before: Machine, after: Machine, *, same_host: bool = True) -> tuple[Change, ...]:
    """All changes, by device. If one side is a topology file, only attributes of such files are compared.

    `same_host` False: UUIDs, GUIDs, LIDs and addresses are not compared, because two machines (or two captures redacted
    with different keys) always differ in them.
    """
    changes = attribute_changes(*_sheets(before, after), same_host=same_host)
    return (*changes, *path_changes(before.topology, after.topology, touched(changes)))


def attribute_changes(old: Iterable[Attributes], new: Iterable[Attributes], *, same_host: bool) -> tuple[Change, ...]:
    """The changes between the attributes of two machines, by device, each reported once."""
    old, new = tuple(old), tuple(new)
    changes = [change for pair in _pairs(old, new) for change in _changes(*pair, same_host)]
    return tuple(_once(changes, {item.id: item.parent for item in (*old, *new)}))


def _sheets(before: Machine, after: Machine) -> tuple[tuple[Attributes, ...], tuple[Attributes, ...]]:
    if before.facts is None or after.facts is None:
        return of_topology(before.topology), of_topology(after.topology)
    return (
        of_inventory(before.facts, before.topology.numa),
        of_inventory(after.facts, after.topology.numa),
    )


def _pairs(
    old: Iterable[Attributes], new: Iterable[Attributes]
) -> Iterator[tuple[Attributes | None, Attributes | None]]:
    """Each device before with itself after: by id, else by its surest name; None without one."""
    here, there = _by_key(old), _by_key(new)
    strays = {key: item for key, item in there.items() if key not in here}
    for key, item in here.items():
        moved = None if key in there else _moved(item, strays)
        yield item, strays.pop(moved) if moved else there.get(key)
    yield from ((None, item) for item in strays.values())


def _by_key(items: Iterable[Attributes]) -> dict[Key, Attributes]:
    """Devices by kind, id and, because a file may have several hosts, the place among those with that id."""
    found: dict[Key, Attributes] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for item in items:
        seen[item.kind, item.id] += 1
        found[item.kind, item.id, seen[item.kind, item.id]] = item
    return found


def _moved(item: Attributes, strays: Mapping[Key, Attributes]) -> Key | None:
    alike = [key for key, stray in strays.items() if stray.kind == item.kind]
    return next((key for name in item.names for key in alike if name in strays[key].names), None)


def _changes(item: Attributes | None, other: Attributes | None, same_host: bool) -> Iterator[Change]:
    if item is None or other is None:
        yield from (_presence(one, item is not None) for one in (item, other) if one)
        return
    if item.id != other.id and item.label != other.label:  # a port moves with its device, which reports it
        message = f"{item.label} moved: it is now {other.label}"
        yield Change(subject=item.id, what="id", before=item.id, after=other.id, message=message)
    differing = {what for what in item.facts if item.facts[what] != other.facts.get(what, item.facts[what])}
    for what in item.facts:
        if what in differing and not _is_implied(item.facts, other.facts, what, differing):
            yield _change(item, what, item.facts[what], other.facts[what])
    if same_host:
        for what, value in item.identity.items():
            if value != other.identity.get(what, value):
                yield _change(item, what, value, other.identity[what])


def _is_implied(old: Facts, new: Facts, what: str, differing: set[str]) -> bool:
    """Whether another change implies this one: by IMPLIED, or a link's limit that changed like its current value."""
    now = what.removeprefix("max ")
    same = now != what and now in differing and (old[now], new[now]) == (old[what], new[what])
    return same or IMPLIED.get(what) in differing


def _presence(item: Attributes, is_gone: bool) -> Change:
    before, after = ("present", None) if is_gone else (None, "present")
    message = f"{item.label} is {'gone' if is_gone else 'new'}"
    return Change(subject=item.id, what="presence", before=before, after=after, message=message)


def value_words(what: str, value: str | None) -> str:
    """The value of a fact in words."""
    return VALUES.get((what, value), value) if value else UNKNOWN


def _change(item: Attributes, what: str, before: str | None, after: str | None) -> Change:
    old, new = value_words(what, before), value_words(what, after)
    words = WORDS.get(what, what + " {before} -> {after}").format(before=old, after=new)
    message = f"{item.label}: {words}" if item.label else words
    return Change(subject=item.id, what=what, before=before, after=after, message=message)


def _once(changes: list[Change], parents: dict[str, str | None]) -> list[Change]:
    """Without repeats: a link's change stays at its lower end, and that of a port and all below it at the port."""
    reported = {(change.subject, change.what, change.before, change.after) for change in changes}
    below = {(parents.get(subject), *rest) for subject, *rest in reported}

    def is_repeated(change: Change) -> bool:
        fact = (change.what, change.before, change.after)
        if change.what in SAME_LINK:
            return (change.subject, *fact) in below
        return change.what in INHERITED and (parents.get(change.subject), *fact) in reported

    return [change for change in changes if not is_repeated(change)]


def touched(changes: Iterable[Change]) -> frozenset[str]:
    """The subjects of changes; "GPUDirect RDMA" when the host's part of it changed."""
    changes = tuple(changes)
    gdr = {"GPUDirect RDMA"} if any(change.what in GDR for change in changes) else set()
    return frozenset(gdr.union(*({change.subject, change.subject.partition(" port ")[0]} for change in changes)))
