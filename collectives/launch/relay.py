# SPDX-License-Identifier: Apache-2.0
"""Forwards another program's output, made printable: a host must not control the terminal of the user who started the
job.
"""

import codecs
import io
from typing import TextIO

from railgauge.topo.values.printable import printable


class Relay:
    """One program's output, bytes as they come, on its way to a stream of ours."""

    def __init__(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)

    def pass_on(self, data: bytes, stream: TextIO) -> None:
        """Write complete characters at once; an incomplete one waits for more bytes."""
        stream.write(printable(self._decoder.decode(data)))
        stream.flush()
