# SPDX-License-Identifier: Apache-2.0
"""What passed a link one way between two readings of its counters, with those that began at 0 again in between."""

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.topo.facts.sources.link_counters import ByteDirection, LinkCounters

OLD_WRAP = 1 << 32
"""Where the counters of older devices begin at 0 again, of which nobody says that they have only 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """Bytes, None where it is not known, and then why; packets, errors and drops, each None without such a counter."""

    bytes: int | None = None
    why: str = ""
    packets: int | None = None
    errors: int | None = None
    dropped: int | None = None


def passed(before: LinkCounters | None, after: LinkCounters | None, way: ByteDirection) -> Passed:
    """Compare two readings of one link; one is None where the link was not there."""
    if before is None or after is None:
        return Passed(why="it was made meanwhile" if before is None else "it went away meanwhile")
    if before.made != after.made:
        return Passed(why="it was made anew meanwhile")
    old, new = before.counts[way], after.counts[way]
    if unread := before.unread or after.unread:
        return Passed(why=unread)
    rise = {what: count - old[what] for what, count in new.items() if what in old}
    data = rise["data"]
    if data < 0:
        wrap = after.wraps_at or _old_wrap(old, rise)
        if wrap is None:
            return Passed(why="its counters were set back meanwhile")
        data += wrap
    risen = {what: count for what, count in rise.items() if count >= 0}
    return Passed(
        bytes=data * after.unit_bytes,
        packets=risen.get("packets"),
        errors=risen.get("errors"),
        dropped=risen.get("dropped"),
    )


def _old_wrap(old: Mapping[str, int], rise: Mapping[str, int]) -> int | None:
    """What a counter that fell began again at; None where it was set back.

    Who sets counters back does so with all of a link: a wrap comes to bytes alone, while packets go on rising.
    """
    return OLD_WRAP if old["data"] < OLD_WRAP and rise.get("packets", 0) > 0 else None
