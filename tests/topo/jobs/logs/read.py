# SPDX-License-Identifier: Apache-2.0
"""Reads a log that is a text or bytes."""

from railgauge.topo.files.lines import whole_lines
from railgauge.topo.jobs.logs.log import Log


def read(content, block=1 << 20):
    data = content.encode() if isinstance(content, str) else content
    log = Log()
    for piece in whole_lines(data[begin : begin + block] for begin in range(0, len(data), block)):
        log.read(piece)
    return log
