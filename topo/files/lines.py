# SPDX-License-Identifier: Apache-2.0
"""Whole lines out of blocks of a log of any size, in bounded memory."""

from collections.abc import Iterable, Iterator

LONGEST = 1 << 15
"""Bytes of a line that are read: a ring of 4096 ranks takes 24 KiB."""


def whole_lines(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[bytes]:
    """Blocks that end where lines end; a line that is longer and runs on over several loses its middle."""
    rest = b""
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end:]
        elif len(rest) < longest:
            rest += block
    if rest:
        yield rest


def text_lines(blocks: Iterable[bytes]) -> Iterator[str]:
    """The lines of blocks that end where lines end, as text; what is no UTF-8 is replaced."""
    for block in blocks:
        yield from block.decode("utf-8", "replace").removesuffix("\n").split("\n")


def lines_saying(words: Iterable[bytes], block: bytes) -> list[int]:
    """Where the lines begin that hold one of some words, in their order: many times faster than an expression."""
    begins = set()
    for word in words:
        at = block.find(word)
        while at >= 0:
            begins.add(block.rfind(b"\n", 0, at) + 1)
            at = block.find(word, at + len(word))
    return sorted(begins)
