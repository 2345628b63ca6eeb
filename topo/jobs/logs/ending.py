# SPDX-License-Identifier: Apache-2.0
"""How a log ends: whether its last lines are an error, of whichever program."""

import re

from railgauge.topo.facts.sources.kernel_events import MESSAGE as KERNEL_EVENT
from railgauge.topo.jobs.logs.catalogue import OF_A_FAULT, entry_of
from railgauge.topo.jobs.logs.line import LogLine, messages
from railgauge.topo.jobs.logs.statement import OF_PEERS, PLAIN, plainest, weight

LAST_LINES = 40
STATED_WITHIN = 400
"""Of so many last lines the plainest one counts where those that the log ends in refer to it."""
WORDS = re.compile("[A-Za-z]")
NAMED = re.compile(
    r"(?:^|[\s\]:|>(])(?:(?:[A-Za-z_][\w.]*)?(?:Error|Exception|Fault)(?:\(\w+\))?: *\S"
    r"|[A-Za-z_][\w.]*(?:Error|Exception|Fault)(?:\(\w+\))?$)"
    r"""|^(?:[A-Za-z_][\w.]*)?(?:Error|Exception)\(["']"""
)
"""An exception by its name, as Python, C++ and Java print it."""
OF_OTHERS = re.compile(
    r"(?:^|[\s\].])(?:\w*(?:Runtime|Connection\w*|BrokenPipe|Timeout|Timedout|Dist\w+|Rendezvous\w+|NCCL\w*|Nccl\w+|nccl\w+"
    r"|ChildFailed|ProcessRaised|ProcessExited|CalledProcess|RayTask|RayActor|ActorDied|WorkerCrashed|EngineDead\w*|Internal"
    r"|Xla\w+|HorovodInternal|Accelerator|EOF|Keyboard\w*|BrokenProcessPool|Peer\w*|Worker\w*|Signal\w*|CUDA\w*|Cuda\w*)"
    r"(?:Error|Exception))\b"
)
"""Exceptions by which a program also reports that another rank, a library or a device failed."""
OTHER = re.compile(
    r"Traceback \(most recent|Segmentation fault|core dumped|\bAborted\b|\bKilled\b|OOMKilled|terminate called"
    r"|[Ee]xit(?:ed|ing)?(?: ?with)?(?: a)?(?: non-?zero)?(?: exit)?(?: ?status| ?code| ?value)? *[:=]? *\(?-?[1-9]"
    r"|\b(?:FATAL|PANIC|CRITICAL|ERROR)\b|\b[EF]\d{4} (?:[0-9:.]+ |\S+\.\w+:\d+\])|\[E[ \d]|Test (?:NCCL|CUDA) failure"
    r"|MPI_ABORT|CANCELLED|exited on signal|Signal: \w|non-zero exit code|non-zero status:? [1-9]|not enough slots"
    r"|\b(?:ORTE|PRTE|mpirun|mpiexec|srun)\b.*(?:unable|lost)"
    r"|low on resource|ssh: connect to|verification failed|not know how to route|version \S+ not found \(required"
    r"|<(?:warn|critical)> err: [1-9]|unable to complete a TCP|watchdog hang"
    r"|error while loading shared|[Cc]ommand not found|unrecognized option|Permission denied|undefined symbol"
    r"|\d,\d{3} [CEF] \d+ \d+\]|\[error\]|\btimed out\b|[Ff]atal error|\bfatal: +\S|\b[Ee]rror: +\S|[Cc]rashed"
    r"|[Uu]nhandled exception|\bhas failed\b"
    r"|[Uu]nable to (?:connect|run|launch)|\bCuda failure '|\[(?:CUDA|NVML)_ERROR_[A-Z_]+\]"
)
OWN = re.compile(r"(?:^|[\]:|>)] )(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): \S")
TELLING = re.compile(r"(?i)not found|no such file|denied|unrecognized|cannot open|unreachable|refused|verification")
"""Of several errors these name a cause; others sum up."""
RETRIES = re.compile(r"(?i)\bretrying\b|\breturned (?:connection refused|no route)")
"""NCCL tries again: harmless unless the log ends in several of them."""
ATTEMPT = re.compile(
    r"\[c10d\] The (?:client socket has failed to connect to|\w+ network addresses of .* cannot be retrieved)"
    r"|Waiting in store based barrier"
)
"""PyTorch tries the next address, or again, or waits on."""
MOST_RETRIES = 3
WEAK = re.compile(
    r"(?i)[:\]>] .*\b(?:fail(?:ed|ure|s)?|cannot|could ?n[o']t|unable to|no such|denied|refused|unreachable"
    r"|not supported)\b|\bfailed because\b"
)
"""What counts in a text of which nothing else is known."""
FAILURE = re.compile(r"(?i)\b(?:errors?|failed to|failure|can ?n[o']t|could ?n[o']t|unable to|no (?:\w+ ){1,3}found)\b")
"""What counts in a text that has nothing else."""
COMPLAINT = re.compile(
    r"(?i)\b(?:do(?:es)? ?n[o']t (?:exist|support|match)|not (?:supported|found|installed|implemented)"
    r"|missing|mismatch"
    r"|incompatible|invalid|timed? ?out|lost|ignor(?:ed|ing)|killed|crash(?:ed)?|died|terminated|aborted|unreachable"
    r"|refused|denied|expired|fault)\b"
)
"""What counts besides in a short one."""
SHORT = 12
"""Of a text of so few lines, which somebody chose, every word of a reason counts."""
COMMENT = "#"  # begins what tables say of themselves
ABORTS = re.compile(r"\bAborted\b|terminate called|Segmentation fault|core dumped|\bKilled\b")
"""How a process ends, which says nothing of why: a line above it may."""
RETURNED = re.compile(r"\.(?:cc|cu|cpp|h):\d+ -> (?:[1-6]|[1-9]\d+)\b")
"""A function of NCCL that hands an error on; 7 is ncclInProgress."""
ENDS_WORK = re.compile(r"(?i)abort|destroy|final|clos(?:e|ing)|\bfree")
"""What a thread of NCCL says while it gives up."""
NO_ERROR = re.compile(
    r"(?i)\b(?:0|no|without) errors?\b|errors? *[:=] *0\b|error correct|error rate|unable to register cu\w+ factory"
    r"|tainting kernel|\boptional\b|errors=remount|\bUCX +(?:DEBUG|TRACE)|\bI\d{4} \d\d:|couldn't chdir"
    r"|nv_get_p2p_free_callback"
)
WARNING = re.compile(r"\[W[ \d]|: W [\w./]+:\d|(?i:\bwarning\b)")
WELL = re.compile(
    r"(?i)\b(?:training|run|job|test\w*|script|program|benchmark)\b.{0,40}\b(?:finished|completed?|succeeded)\b|successfully"
    r"|# Avg bus bandwidth"
)
"""The last line of a program that ended well, whatever it reported before."""


def is_own(text: str) -> bool:
    """Whether a line is an exception of the program itself, as Python prints it at the end of a traceback."""
    return bool(OWN.search(text)) and not OF_OTHERS.search(text)


def error_at_end(tail: bytes) -> str:
    """The line of a log's last bytes that names the error best; "" if it does not end in one. What the driver reports
    in a kernel log is judged by itself.
    """
    kept = (raw for raw in tail.split(b"\n") if not KERNEL_EVENT.search(raw))
    all_lines = [line for raw in kept for line in messages(raw) if WORDS.search(line.text)][-STATED_WITHIN:]
    lines = all_lines[-LAST_LINES:]
    if lines and WELL.search(lines[-1].text) and not (NAMED.search(lines[-1].text) or OTHER.search(lines[-1].text)):
        return ""
    last = lines[-MOST_RETRIES:]
    if len(last) == MOST_RETRIES and all((RETRIES if line.level else ATTEMPT).search(line.text) for line in last):
        return last[-1].text
    handed_on = [line for at, line in enumerate(lines) if line.level != "WARN" and not _goes_on(line, lines[at:])]
    texts = [line.text for line in handed_on if not _harmless(line.text)]
    foreign = [line.text for line in lines if not line.level and not _harmless(line.text)]
    for pattern, among in ((NAMED, foreign), (OTHER, foreign), (RETURNED, texts)):
        if found := [text for text in among if pattern.search(text)]:
            best = next(filter(TELLING.search, found), found[0]) if pattern is OTHER else found[0]
            indirect = weight(best) < PLAIN - 1 or _follows(best) or OF_PEERS.search(best)
            said = _stated(all_lines) if indirect else ""
            return said or (_reason(foreign, best) if ABORTS.search(best) else best)
    return ""


def _goes_on(line: LogLine, rest: list[LogLine]) -> bool:
    """Whether the thread that wrote a line goes on with its work: then nothing that a function handed on ended it."""
    thread = line.host, line.pid, line.thread
    own = (one.text for one in rest if one.level == "INFO" and (one.host, one.pid, one.thread) == thread)
    return bool(line.pid) and any(not (RETURNED.search(text) or ENDS_WORK.search(text)) for text in own)


def _stated(lines: list[LogLine]) -> str:
    """The line that states plainest what failed, and does not follow from something; "" if none states a reason."""
    foreign = (line.text for line in lines if not line.level and not _harmless(line.text))
    return plainest(text for text in foreign if weight(text) >= PLAIN - 1 and not _follows(text))


def _follows(text: str) -> bool:
    entry = entry_of(text, "WARN")
    return entry is not None and entry.pattern.follows and entry.pattern.general <= OF_A_FAULT


def _reason(texts: list[str], end: str) -> str:
    """The line next above the end of a process that says that something failed; the end itself if none does."""
    above = texts[: texts.index(end)]
    return next((text for text in reversed(above) if WEAK.search(text) and not ABORTS.search(text)), end)


def weak_error_at_end(tail: bytes) -> str:
    """The first of a log's last lines that says in any words that something failed; else one farther above, or a
    warning; "" if none does.
    """
    lines = [line for raw in tail.split(b"\n")[-STATED_WITHIN:] for line in messages(raw) if not line.level]
    said = (line.text for line in lines[-LAST_LINES:] if not _harmless(line.text))
    near = next((text for text in said if WEAK.search(text) or weight(text) >= PLAIN), "") or _stated(lines)
    far = (line.text for line in lines if not (line.text.startswith(COMMENT) or NO_ERROR.search(line.text)))
    short = len(lines) <= SHORT
    return near or next(
        (text for text in far if FAILURE.search(text) or (short and (weight(text) or COMPLAINT.search(text)))), ""
    )


def _harmless(text: str) -> bool:
    """Whether a line with words of an error says that there is none, or warns."""
    return bool(NO_ERROR.search(text) or WARNING.search(text))
