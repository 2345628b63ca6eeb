# SPDX-License-Identifier: Apache-2.0
"""Findings of what NVIDIA's driver reported in a kernel log: for `check` of a machine and `log explain` of a file."""

import re
from collections.abc import Iterable, Iterator, Mapping

from railgauge.topo.facts.sources.kernel_events import KernelEvent, KernelSource
from railgauge.topo.findings.cards.health import GPU_XID, NVSWITCH_SXID
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.xid_catalogue import (
    RECOVERY_CHANGED,
    REMOVED,
    XidMeaning,
    meaning_of_sxid,
    meaning_of_xid,
)

PREVIOUS = re.compile(r"caused by previous Xid (\d{1,6})")
"""What an Xid 45 names as its cause: it stands for that one where the log begins later."""


def xid_findings(events: Iterable[KernelEvent], names: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """A finding for each event of a GPU; `names`: of GPUs, by bus id. What came before the driver said that a GPU
    needs no recovery any more is INFO.
    """
    found = [event for event in events if event.source == KernelSource.GPU]
    known = {(event.device, event.code) for event in found}
    recovered: dict[str, int] = {}
    for event in found:
        if event.code == RECOVERY_CHANGED and event.kind == "0x0":
            recovered[event.device] = max(event.last_line, recovered.get(event.device, 0))
    for event in found:
        past = event.last_line < recovered.get(event.device, 0)
        first = PREVIOUS.search(event.text) if event.code == REMOVED else None
        code = int(first[1]) if first and (event.device, int(first[1])) not in known else event.code
        meaning = meaning_of_xid(code, event.kind)
        if code != event.code:
            meaning = meaning._replace(words=f"caused by Xid {code}, {meaning.words}")
        who = (names or {}).get(event.bus_id, event.bus_id)
        yield _finding(event, meaning, who, "Xid", past=past)


def sxid_findings(events: Iterable[KernelEvent]) -> Iterator[Finding]:
    """A finding for each event of an NVSwitch."""
    for event in events:
        if event.source == KernelSource.NVSWITCH:
            yield _finding(event, meaning_of_sxid(event.code, event.kind), event.bus_id, "SXid")


def _finding(event: KernelEvent, meaning: XidMeaning, who: str, kind: str, *, past: bool = False) -> Finding:
    drains = meaning.action.drains and not past
    times = "" if event.times == 1 else f", {event.times} times"
    when = "" if event.last_s is None else f", {'last ' if event.times > 1 else ''}{event.last_s} s after boot"
    advice = "the GPU has recovered since" if past else meaning.action.words
    return (GPU_XID if kind == "Xid" else NVSWITCH_SXID).finding(
        Level.INFO if past else meaning.action.level,
        event.bus_id,
        f"{who}: {kind} {event.code}{times}{when}: {meaning.words}; {advice}",
        fix=not past and meaning.action.level is not Level.INFO,
        evidence={
            kind.lower(): event.code,
            "times": event.times,
            "first_s": event.first_s,
            "last_s": event.last_s,
            "action": advice,
            "drain": drains,
            "line": event.text,
        },
    )
