# SPDX-License-Identifier: Apache-2.0
"""How plainly a line states what failed: of lines that no card knows, the plainest is the cause to look at first."""

import re
from collections.abc import Iterable

REASON = re.compile(
    r"(?i)\b(?:not (?:found|permitted|supported|installed|loaded|available|enabled|detected|compatible|reachable|exist"
    r"|match|allowed|enough|responding|implemented|recogni[sz]ed|ready|visible|set|defined|equal|divisible"
    r"|(?:a )?valid)"
    r"|no (?:such|space|route|module|memory|device|matching|valid|suitable|healthy|backend|available)\b"
    r"|does ?n[o']t \w+"
    r"|denied|unrecogni[sz]ed|unreachable|refused|verification failed|time[sd]? ?out|unknown (?:error|option|argument)"
    r"|invalid|illegal|unsupported|already (?:exists?|in use|open|running)|mismatch\w*|missing|incompatible"
    r"|out of (?:memory|range|bounds)|exceed\w*|corrupt\w*|undefined|unbound|busy|unavailable|expired|too (?:small"
    r"|large|many|old"
    r"|new)"
    r"|must (?:be|match|have)|should be|expected|insufficient|requires?|only supports?|killed by|lost|disconnected"
    r"|can(?: ?not|'t) (?!create communicator)\w+|could ?n[o']t \w+|unable to \w+|fail(?:ed|ure)? (?:to|with|on|because"
    r"|while) \w+|failed: \w+|connection closed)\b"
)
"""What a line says of the reason: a state of something, or an act that did not succeed."""
SUMS_UP = re.compile(
    r"(?i)exit ?code|exit(?:ed|ing|s)?\b.{0,24}\b(?:code|status|value)\b|return(?:ed)?(?: with)?(?: return)? code"
    r"|error code:? *-?\d+\W*$"
    r"|\brc ?= ?-?\d+\W*$|non-?zero|traceback \(most|\bsee (?:above|the|log|stack|root)\b|root cause"
    r"|printing .{0,20}\blog"
    r"|\baborted\b|aborting|core dumped|terminat|could ?n[o']t start \w+\W*$|failed to (?:start|invoke)\b"
    r"|failed to launch\W"
    r"|initialization failed|hit an exception|child ?failed|stack trace|for more (?:info|detail)|to troubleshoot"
    r"|for details"
    r"|run with \w+=|shutting down|please (?:check|report|see)|\bkilled\b|background process|during handling of"
    r"|direct cause"
    r"|cancelled|will be restarted|retry|above exception|ERROR_LOG: |test failure\b|unhandled \w+ error|caught by"
    r"|backtrace"
    r"|missing success|operations have failed|data inconsistency|\bpolled an error\b"
)
"""What reports that something ended, and refers to what said why."""
OF_PEERS = re.compile(
    r"(?i)timed? ?out|timeout|\bclosed\b|\blost\b|disconnect|\breset\b|broken pipe|abort|terminat|\bkilled\b|\bdied\b"
    r"|\bdead\b"
)
"""What a rank says that waits for another one, or lost it."""
CODE = re.compile(
    r"^\W*(?:raise|return|assert|await|self\.|if|elif|else|for|while|with|try|except|def|class|import|from|yield"
    r"|frame #\d+"
    r'|at (?:0x|[\w.:/]+ ?\()|#\d+|File ["“]|\d+ +/|in |[\w.\[\]]+ = )(?![\w.]*(?:Error|Exception):)'
)
"""A line of a program's own text, or of its stack."""
PREFIX = re.compile(r"^(?:\([^)]{1,64}\) *)?(?:\[[^\]]{1,64}\]:? *)*(?:(?:ERROR|FATAL|E\d{4})\b[^\]]{0,80}\] ?)?")
"""What launchers and programs put before the lines of their workers."""
OF_LEVEL = re.compile(
    r"(?:^|[\s\[(])(?:INFO|WARN(?:ING)?|DEBUG|TRACE|NOTICE|[IWD]\d{4})(?=[\s\]:(,]|$)|\[W[ \d]"
    r"|(?i:\bwarning:|\[ *(?:warn|info|debug|notice)\b)"
)
"""A line that says itself that it is no error."""
OF_ERROR = re.compile(
    r"(?:^|[\s\[(:])(?:ERROR|FATAL|CRITICAL|PANIC|E\d{4})\b|\b[Ee]rror (?:returned|while|when|in|from"
    r"|\w+ing)\b|(?i:\b(?:fatal|error)\b ?:)|\[E[ \d]"
    r"|(?:^|/)(?:ba|da|z)?sh: |\.sh: line \d+: "
)
EXCEPTION = re.compile(r"""(?:^|[\s\]:|>)])(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Fault)(?:: \S|\(["'])""")
GIVES_REASON = re.compile(r"^\W*what\(\): +\S|\b(?:[Rr]eason|[Pp]ossible [Cc]ause|[Rr]oot [Cc]ause) ?[:=] *\S")
"""A line that says itself that it gives the reason, as C++ does of an exception that nothing caught."""
IN_A_STACK = re.compile(r"\b[a-z]\w+\(\d+\)\.*: +[^:]*(?i:fail(?!ed$)|error|invalid|unable|cannot|no such)[^:]*$")
"""The innermost line of MPICH's stack of an error, and of MVAPICH's and Intel's."""
PLAIN = 3
"""The weight of a line that names an error and its reason."""


def weight(text: str) -> int:
    """How plainly a line states what failed; 0 for one that states nothing, or refers to another."""
    said = PREFIX.sub("", text, count=1)
    if IN_A_STACK.search(said):
        return PLAIN
    gives = GIVES_REASON.search(said)
    if OF_LEVEL.search(text) or CODE.search(said) or (SUMS_UP.search(said) and not gives):
        return 0
    marked = EXCEPTION.search(text) or OF_ERROR.search(text) or gives
    if REASON.search(said):
        return PLAIN if marked else PLAIN - 1 if ": " in said else 1
    return PLAIN - 1 if gives else 1 if marked else 0


def plainest(texts: Iterable[str]) -> str:
    """The first of the lines that state it most plainly, rather not of another rank; "" if none states anything."""
    weighed = [(weight(text) - bool(OF_PEERS.search(text)), text) for text in texts]
    most = max((one for one, _ in weighed), default=0)
    return next(text for one, text in weighed if one == most) if most else ""
