# SPDX-License-Identifier: Apache-2.0
"""The traffic of a link in one direction between two readings of its counters, with wraps in between."""

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.topo.facts.sources.link_counters import ByteDirection, LinkCounters

OLD_WRAP = 1 << 32
"""Where counters of older devices wrap that do not report their width of 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Bytes, None if unknown, with the reason why; packets, errors and drops, each None without such a counter."""

    bytes: int | None = None
    why: str = ""
    packets: int | None = None
    errors: int | None = None
    dropped: int | None = None


def passed(before: LinkCounters | None, after: LinkCounters | None, way: ByteDirection) -> Passed:
    """Compare two readings of one link; one is None if the link did not exist."""
    if before is None or after is None:
        return Passed(why="it was created meanwhile" if before is None else "it was removed meanwhile")
    if before.made != after.made:
        return Passed(why="it was recreated meanwhile")
    old, new = before.counts[way], after.counts[way]
    if unread := before.unread or after.unread:
        return Passed(why=unread)
    rise = {what: count - old[what] for what, count in new.items() if what in old}
    data = rise["data"]
    if data < 0:
        wrap = after.wraps_at or _old_wrap(old, rise)
        if wrap is None:
            return Passed(why="its counters were reset meanwhile")
        data += wrap
    risen = {what: count for what, count in rise.items() if count >= 0}
    return Passed(
        bytes=data * after.unit_bytes,
        packets=risen.get("packets"),
        errors=risen.get("errors"),
        dropped=risen.get("dropped"),
    )


def _old_wrap(old: Mapping[str, int], rise: Mapping[str, int]) -> int | None:
    """The wrap-around of a counter that fell; None if it was reset.

    A reset affects all counters of a link; a wrap only bytes, while packets keep rising.
    """
    return OLD_WRAP if old["data"] < OLD_WRAP and rise.get("packets", 0) > 0 else None
