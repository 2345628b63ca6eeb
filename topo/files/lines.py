# SPDX-License-Identifier: Apache-2.0
"""Whole lines out of blocks of a log of any size, in bounded memory."""

from collections.abc import Iterable, Iterator

LONGEST = 1 << 15
"""Bytes of a line that are read: a ring of 4096 ranks takes 24 KiB."""


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Blocks that end where lines end; one that runs on over several loses its middle."""
    rest = b""
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end:]
        elif len(rest) < LONGEST:
            rest += block
    if rest:
        yield rest
