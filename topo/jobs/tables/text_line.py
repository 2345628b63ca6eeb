# SPDX-License-Identifier: Apache-2.0
"""A line of a job's output without its wrapping, and whose it is among the streams that a launcher mixes."""

import re
from typing import NamedTuple

from railgauge.topo.files.lines import LONGEST
from railgauge.topo.jobs.logs.line import COLOURS, CONTAINER

STREAM = re.compile(r"\s*(?:\[(\d{1,9},\d{1,9})\]<std\w{2,4}>: ?|(?!rccl-tests:)([\w.-]{1,64}): )")
"""Of mpirun --tag-output, and of srun --label or pdsh: a task's number or a host."""
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
    stream = ""
    if label := STREAM.match(text):
        stream, text, raw = label[1] or label[2], text[label.end() :], raw[label.end() :]
    if "CCL " in text and (message := CUT_INTO.search(text)):
        text = text[: message.start()]
    return TextLine(text, stream, number, raw)
