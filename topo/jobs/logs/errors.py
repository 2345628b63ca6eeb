# SPDX-License-Identifier: Apache-2.0
"""The errors in a log as findings: causes first, what follows from them below, and how the log ends."""

from collections.abc import Iterable, Iterator
from typing import Any

from railgauge.topo.findings.cards.logs import OTHER_WARNING
from railgauge.topo.findings.cards.parts import EFA_PROVIDER_MISSING, JOB_FAILED, PLUGIN_FAILED
from railgauge.topo.findings.cards.rdma import VERBS_PROVIDER_MISSING
from railgauge.topo.findings.finding import ORDER, Finding, Level
from railgauge.topo.findings.node.consequences import FOLLOWS_FROM
from railgauge.topo.jobs.logs.catalogue import OF_A_FAULT, entry_of, other_causes_of
from railgauge.topo.jobs.logs.ending import RETURNED
from railgauge.topo.jobs.logs.log import Log, Sighting
from railgauge.topo.jobs.logs.order import in_time
from railgauge.topo.jobs.logs.sources import speaker
from railgauge.topo.jobs.logs.words import named

UNNAMED_CAUSE = "the cause is not in this log: it is in an earlier line, or in the log of another rank"
CAUSES = {VERBS_PROVIDER_MISSING.id: EFA_PROVIDER_MISSING.id, PLUGIN_FAILED.id: EFA_PROVIDER_MISSING.id}
"""What follows from one other finding alone."""
NAMES = {"peer": "peers", "status": "status", "opcode": "opcode", "vendor": "vendor_error"} | {
    "local": "local_gids",
    "remote": "remote_gids",
    "hca": "hcas",
}


def errors(log: Log) -> Iterator[Finding]:
    """The errors in the order of the log, each with the one that it follows from."""
    known = {seen.entry.card.id: seen for seen in log.sightings.values()}
    own = {key: known[CAUSES[key]] for key in CAUSES.keys() & known.keys() if CAUSES[key] in known}
    causes = [seen for seen in log.sightings.values() if not seen.entry.pattern.follows]
    candidates, order = in_time(_candidates(causes))
    cause = next(iter(candidates), None)
    follow = [seen for seen in log.sightings.values() if seen.entry.pattern.follows and seen.entry.card.id not in own]
    first = {*map(id, candidates)}
    for seen in (*candidates, *(seen for seen in log.sightings.values() if id(seen) not in first)):
        if seen.entry.card.id in own:
            yield _consequence(seen, own[seen.entry.card.id])
        elif seen.entry.pattern.follows:
            yield _consequence(seen, cause)
        else:
            unneeded = seen.entry.card is VERBS_PROVIDER_MISSING and (log.on_one_node or _has_rdma(log))
            level = Level.INFO if unneeded else _level(seen, follow if seen is cause else ())
            yield _finding(seen, level, order if seen is cause else "")
    if cause is None and len(causes) == len(log.sightings):
        yield from (_end(text) for text in log.ends if not (causes and RETURNED.search(text)))


def _level(seen: Sighting, follow: Iterable[Sighting]) -> Level:
    """The level of an error: that of what follows from it, if this is worse."""
    return max((one.entry.pattern.level for one in (seen, *follow)), key=ORDER.index)


def _has_rdma(log: Log) -> bool:
    """Whether NCCL has RDMA devices: then the drivers that libibverbs lacks are those of other devices."""
    return any("IB" in kinds for kinds in log.devices.values()) or any("IB" in one for one in log.networks.values())


def _candidates(causes: list[Sighting]) -> list[Sighting]:
    """What others may follow from: failures, or else warnings in words that nobody knows."""
    failures = [seen for seen in causes if seen.entry.pattern.level is Level.FAIL]
    return failures or [seen for seen in causes if seen.entry.card is OTHER_WARNING]


def _finding(seen: Sighting, level: Level, more: str = "", **evidence: Any) -> Finding:
    card, pattern = seen.entry
    facts: dict[str, Any] = {"line": seen.text, "lines": seen.times, "hosts": sorted(seen.hosts), **evidence}
    facts |= {NAMES[key]: sorted(values) for key, values in seen.named.items()}
    if others := other_causes_of(seen.entry):
        facts["other_causes"] = list(others)
    times = f"{seen.times} {'line' if seen.times == 1 else 'lines'}"
    message = f"{pattern.meaning}{_details(seen)}{more} ({times}: {seen.text})"
    return card.finding(level, named(seen.hosts), message, evidence=facts)


def _details(seen: Sighting) -> str:
    """Which part of NCCL speaks where the words say no more, and what completions name."""
    known = seen.named
    parts = [
        f"{title} {', '.join(sorted(known[key])[:4])}"
        for key, title in (("peer", "peer"), ("hca", "through"), ("local", "from GID"), ("remote", "to GID"))
        if key in known
    ]
    said = speaker(seen.text) if seen.entry.pattern.general > OF_A_FAULT or seen.entry.card is OTHER_WARNING else ""
    return (f": {', '.join(parts)}" if parts else "") + (f"; it comes from {said}" if said else "")


def _consequence(seen: Sighting, cause: Sighting | None) -> Finding:
    if cause is None:
        return _finding(seen, seen.entry.pattern.level, f"; {UNNAMED_CAUSE}")
    identifier, subject = cause.entry.card.id, named(cause.hosts)
    evidence = {FOLLOWS_FROM: [identifier, subject]}
    return _finding(seen, Level.INFO, f"; it follows from {identifier}: {subject}", **evidence)


def _end(text: str) -> Finding:
    """A log that ends in an error is never without a finding: of its words, or of a program that failed."""
    entry = entry_of(text, "WARN")
    if entry is not None and entry.pattern.general <= OF_A_FAULT and entry.card is not JOB_FAILED:
        return _finding(Sighting(entry, text, times=1), entry.pattern.level, "; the log ends in it")
    message = f"the log ends in an error ({text}); {UNNAMED_CAUSE}"
    return JOB_FAILED.finding(Level.FAIL, "the log", message, evidence={"line": text})
