# SPDX-License-Identifier: Apache-2.0
"""A line of a job's output without its wrapping, and whose it is among the streams that a launcher mixes."""

import re
from typing import NamedTuple

from railgauge.topo.files.lines import LONGEST
from railgauge.topo.files.pasted_text import BOLD
from railgauge.topo.jobs.logs.line import COLOURS, CONTAINER

STREAM = re.compile(
    r"\s*(?:\[(\d{1,9},\d{1,9})\]<std\w{2,4}>: ?|\[(pod/\S{1,255})\] |(?!rccl-tests:)([A-Za-z0-9][\w.-]{0,63}): )"
)
"""Of mpirun --tag-output, of kubectl logs --prefix, and of srun --label or pdsh: a task's number or a host."""
TAG = re.compile(r"\[\d{1,9},\d{1,9}\]<std\w{2,4}>:")
"""Of mpirun within a line: it tags every piece that a process writes, and nccl-tests writes a row in pieces."""
STAMP = re.compile(r"\s*\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?:? ")
CUT_INTO = re.compile(
    r"(?:\[?\d{4}-\d\d-\d\d[T ]\S{1,24} )?[A-Za-z][^\s:]{0,254}:\d{1,9}:\d{1,9} +\[-?\d{1,9}\] +"
    r"(?:\S{1,255}:\d{1,9} +)?[NR]CCL "
)
"""A message of NCCL, which may begin in the middle of a row that is being printed."""


class TextLine(NamedTuple):
    """The text of a line without NCCL's messages, colours and the launcher's label; number: 1-based.

    `raw` is without the label alone.
    """

    text: str
    stream: str
    number: int
    raw: bytes


def text_line(raw: bytes, number: int) -> TextLine:
    """A line of a file, decoded and unwrapped."""
    text = raw[:LONGEST].decode("utf-8", "replace")
    text = (text if text.isprintable() else COLOURS.sub("", text.replace("\t", " "))).rstrip()
    if text.startswith("{"):
        text = CONTAINER.split(text, maxsplit=1)[0]
    if b"\x1b" in raw[:LONGEST] and len(raw) < LONGEST:
        raw = text.encode()
    stream, begin = "", 0
    for prefix in (STAMP, STREAM, STAMP):
        if found := prefix.match(text, begin):
            begin, stream = found.end(), found[found.lastindex] if found.lastindex else stream
    text, raw = text[begin:], raw[begin:]
    if "**" in text:
        text = BOLD.sub(r"\1", text)
    if "]<std" in text:
        text = TAG.sub("", text)
    if "CCL " in text and (message := CUT_INTO.search(text)):
        text = text[: message.start()]
    return TextLine(text, stream, number, raw)
