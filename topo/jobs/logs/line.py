# SPDX-License-Identifier: Apache-2.0
"""One line of a log, without its wrapping: colours, launchers' prefixes, timestamps, JSON of containers.

NCCL begins its lines with `host:pid:thread [device] `; a WARN has a timestamp before it since 2.26, and the source's
file and line behind it, with the function since 2.30.7 (`ncclDebugLog`; tests/nccl holds what each release prints).
NCCL 2.19 to 2.22 print a device of any number before they know it. Ranks that share a pipe cut into each other's lines,
so that a line may hold several headers: each begins a message.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f]")
CONTAINER = re.compile(r'\\n"|\\u001b\[[0-9;]*m')  # the end of a message, and colours, in the JSON of a container
HEADER = re.compile(
    r"(?:(?P<host>[^\s\]:,\"`]{1,255}):(?P<pid>\d{1,9}):(?P<thread>\d{1,9}) +)?(?:\[(?P<device>-?\d{1,10})\] +)?"
    r"(?P<source>[\w./+-]{1,255}:\d+ +)?(?:\(\w{1,255}\) +)?"
    r"[NR]CCL (?P<level>INFO|WARN|TRACE|CALL|ERROR)(?: +|$)(?:\[Rank \d+\] +)?"
)
OLD_HEADER = re.compile(
    r"(?:(?P<host>[^\s\]:,\"`]{1,255}):(?P<pid>\d{1,9}):(?P<thread>\d{1,9}) +"
    r"|(?=\[\d+\] +[\w/-]{1,255}\.(?:h|cc|cu):\d+ +WARN ))"
    r"\[(?P<device>\d{1,4})\] +(?P<source>[\w./+-]{1,255}:\d+ +)?(?P<level>INFO|WARN) +"
)
"""Of NCCL 2.0 to 2.3, which did not name itself; a line whose host was hidden still has its WARN and source."""
MOST_DEVICES = 1024
"""Of a host; a device beyond it, or below 0, is one that NCCL does not know yet."""
CUT_INTO = re.compile(r"([^\s\]:,\"`]{1,255}):\d+:\d*")
"""A header that another rank's begins in the middle of: what was written of it runs into the next one's host."""


class LogLine(NamedTuple):
    """A message of NCCL and its origin; a WARN begins with the source's file and line.

    `level` is "" for a line without NCCL's header; host is "" when unnamed. before: what stands before the header, or
    the whole of a line without one: its timestamp is there.
    """

    text: str
    level: str = ""
    host: str = ""
    pid: int = 0
    thread: int = 0
    device: int | None = None
    before: str = ""


def messages(raw: bytes) -> Iterator[LogLine]:
    """The messages of a line: one, several where ranks cut into each other, or a line without level."""
    text = raw.decode("utf-8", "replace")
    text = (text if text.isprintable() else COLOURS.sub("", text)).rstrip()
    if text.startswith("{"):
        text = CONTAINER.split(text, maxsplit=1)[0]
    headers = _headers(text)
    if not headers:
        yield LogLine(text.strip(), before=text)
        return
    begins = [header.start() and header.start() + _glued(header, text) for header in headers]
    for header, begin, end in zip(headers, begins, [*begins[1:], len(text)], strict=True):
        host, pid, thread, device, source, level = header.groups()
        yield LogLine(
            (source or "") + text[header.end() : end].strip(),
            level,
            host[begin - header.start() :] if host else "",
            int(pid or 0),
            int(thread or 0),
            _device(device),
            text[:begin],
        )


def _device(text: str | None) -> int | None:
    return device if text and 0 <= (device := int(text)) < MOST_DEVICES else None


def _headers(text: str) -> list[re.Match[str]]:
    """The headers of a line; the search is not begun where no name of NCCL is ahead."""
    if "CCL " not in text:
        old = OLD_HEADER.search(text) if "] INFO " in text or " WARN " in text else None
        return [old] if old else []
    found: list[re.Match[str]] = []
    end = 0
    while text.find("CCL ", end) >= 0 and (header := HEADER.search(text, end)):
        found.append(header)
        end = header.end()
    return found


def _glued(header: re.Match[str], text: str) -> int:
    """How much of a header's host is the end of what it cuts into: ranks that share a pipe are of one host."""
    host = header["host"] or ""
    before = CUT_INTO.search(text, 0, header.start("host") + len(host)) if host else None
    if before and before.start() < header.start() and host.endswith(before[1]):
        return len(host) - len(before[1])
    return 0
