# SPDX-License-Identifier: Apache-2.0
"""The words of an error as a finding: of itself, of what it follows from, and of the end of a log."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from railgauge.topo.findings.cards.logs import JOB_FAILED, OTHER_WARNING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.consequences import FOLLOWS_FROM
from railgauge.topo.jobs.logs.catalogue import OF_A_FAULT, entry_of, other_causes_of
from railgauge.topo.jobs.logs.ending import RETURNED, WARNING
from railgauge.topo.jobs.logs.programs import area_of, program_of
from railgauge.topo.jobs.logs.reasons import IN_THE_LINE, reason_of
from railgauge.topo.jobs.logs.sighting import Sighting
from railgauge.topo.jobs.logs.sources import speaker
from railgauge.topo.jobs.logs.statement import PLAIN, weight
from railgauge.topo.jobs.logs.words import named

OWN_ERROR = "the program"
UNNAMED_CAUSE = "the cause is not in this log: it is in an earlier line, or in the log of another rank"
OF_RESULT = tuple(
    (re.compile(words), said)
    for words, said in (
        (r"(?i)unhandled cuda error|ncclUnhandledCudaError", "a call of CUDA failed: GPUs, their driver or memory"),
        (r"unhandled system error|ncclSystemError", "a call of the system failed: sockets, /dev/shm, memory or RDMA"),
        (r"(?i)internal error|ncclInternalError", "a check of NCCL's own failed"),
    )
)
"""What a result of NCCL is about, which programs report in one word."""
NAMES = {"peer": "peers", "status": "status", "opcode": "opcode", "vendor": "vendor_error"} | {
    "local": "local_gids",
    "remote": "remote_gids",
    "hca": "hcas",
    "gpu": "gpus",
    "task": "tasks",
}
DETAILS = (
    ("peer", "peer"),
    ("hca", "through"),
    ("local", "from GID"),
    ("remote", "to GID"),
    ("gpu", "GPU"),
    ("task", "late:"),
)


class Cause(NamedTuple):
    """What an error follows from: the id and the subject of a finding."""

    id: str
    subject: str


def finding(seen: Sighting, level: Level, more: str = "", **evidence: Any) -> Finding:
    """An error at a level; more: what is said behind its meaning."""
    card, pattern = seen.entry
    facts: dict[str, Any] = {"line": seen.text, "lines": seen.times, "hosts": sorted(seen.hosts), **evidence}
    facts |= {NAMES[key]: sorted(values) for key, values in seen.named.items()}
    if others := other_causes_of(seen.entry):
        facts["other_causes"] = list(others)
    times = f"{seen.times} {'line' if seen.times == 1 else 'lines'}"
    message = f"{pattern.meaning}{_details(seen)}{more} ({times}: {seen.text})"
    return card.finding(level, named(seen.hosts), message, evidence=facts)


def _details(seen: Sighting) -> str:
    """What completions name; where the words say no more, what the reason means and which part of NCCL, UCX or
    libfabric speaks.
    """
    known, pattern = seen.named, seen.entry.pattern
    parts = [f"{title} {named(known[key])}" for key, title in DETAILS if key in known]
    says_no_more = pattern.general > OF_A_FAULT or pattern.meaning.endswith(IN_THE_LINE)
    why = reason_of(seen.text) if says_no_more else ""
    said = speaker(seen.text) if says_no_more or seen.entry.card is OTHER_WARNING else ""
    more = (
        f": {', '.join(parts)}" if parts else "",
        f"; {why}" if why else "",
        f"; it comes from {said}" if said else "",
    )
    return "".join(more)


def consequence(seen: Sighting, cause: Cause | None, more: str = "") -> Finding:
    """An error that follows from another one, which may not be in the log."""
    if cause is None:
        of_job = seen.entry.card is JOB_FAILED
        said = next((f"; {said}" for words, said in OF_RESULT if of_job and words.search(seen.text)), "")
        return finding(seen, seen.entry.pattern.level, f"{said}{more}; {UNNAMED_CAUSE}")
    evidence = {FOLLOWS_FROM: [cause.id, cause.subject]}
    return finding(seen, Level.INFO, f"{more}; it follows from {cause.id}: {cause.subject}", **evidence)


def first_ended(found: Mapping[str, str]) -> str:
    """Who ended first, as torchrun's summary has it; "" where it names no rank."""
    if "rank" not in found:
        return ""
    host = f" on {found['host']}" if "host" in found else ""
    code = f" with exit code {found['exitcode']}" if "exitcode" in found else ""
    return f"; torchrun says that rank {found['rank']}{host} ended first{code}"


def of_end(text: str, library: str = "") -> Finding:
    """A log that ends in an error is never without a finding: of its words, or of a program that failed."""
    entry = entry_of(text, "WARN")
    if entry is not None and entry.pattern.general <= OF_A_FAULT and entry.card is not JOB_FAILED:
        return finding(Sighting(entry, text, times=1), entry.pattern.level, "; the log ends in it")
    if RETURNED.search(text) and (said := speaker(text)):
        message = (
            f"a function of NCCL failed, and the warning that says why is not in this log; it is of {said} ({text})"
        )
        return JOB_FAILED.finding(Level.FAIL, "the log", message, evidence={"line": text})
    return stated(text, library) if weight(text) >= PLAIN else _unknown(text)


def stated(text: str, library: str = "") -> Finding:
    """An error in words that no card has, which state it plainly; library: the Python package that raised it."""
    who, area = program_of(text) or (f"the library {library}" if library else "a program"), area_of(text)
    about = f", about {area}" if area else ""
    why = f" ({why})" if (why := reason_of(text)) else ""
    message = f"{who} reports an error in words of its own{about}{why}, and no earlier one is known: {text}"
    return JOB_FAILED.finding(Level.FAIL, OWN_ERROR, message, evidence={"line": text})


def _unknown(text: str) -> Finding:
    area = f"; by its words it is about {area}" if (area := area_of(text)) else ""
    area += f"; {why}" if (why := reason_of(text)) else ""
    said = "has no error, and a warning" if WARNING.search(text) else "ends in an error"
    message = f"cause not known: the log {said} that is not known here{area} ({text})"
    return JOB_FAILED.finding(Level.WARN, "the log", message, evidence={"line": text})
