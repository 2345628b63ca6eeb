# SPDX-License-Identifier: Apache-2.0
"""Pickles of plain data, as PyTorch writes its flight records: containers, strings, numbers, and nothing else.

A pickle is a program for a small machine that can also import modules and call what is in them. Its instructions are
looked at before any of them runs: one that plain data does not need is refused, and so is one that asks for more memory
than the file has bytes for. What is left builds lists, tuples, dictionaries, strings and numbers.
The instructions: Python's `pickletools`; protocols 2 to 5.
"""

import io
import pickle
import re
from typing import Any

from railgauge.topo.errors import InputError

MOST_BYTES = 64 << 20
"""Of one file: ten times what PyTorch's default of 2,000 entries with their stacks take."""
MOST_CONTAINERS = 1 << 22
"""Lists, dictionaries and tuples: each is a byte in the file and up to 64 in memory."""
CONTAINERS = (b"]", b"}", b"\x85", b"\x86", b"\x87")
PROTOCOLS = re.compile(rb"\x80[\x02-\x05]")
FIXED = re.compile(
    rb"(?:h.|j....|q.|r..[\x00-\x3f]\x00|\x94"  # the memo read and written, up to 4 million values
    rb"|K.|M..|J....|G........|\x8a(?:\x00|\x01.|\x02..|\x03...|\x04....|\x05.{5}|\x06.{6}|\x07.{7}|\x08.{8}|\x09.{9})"
    rb"|[\x88\x89N]"  # True, False, None
    rb"|[\](})aesut\x85\x86\x87]"  # marks, containers and what is put into them
    rb"|\x95.{8}){1,1024}+",  # the length of a frame, which readers in memory pass over
    re.DOTALL,
)
"""Instructions of which the length is known, a run of them."""
STRINGS = {b"X": 4, b"\x8c": 1}
"""BINUNICODE and SHORT_BINUNICODE, and the bytes of their length."""
STOP = b"."


def load(data: bytes, path: str) -> Any:
    """The value in a pickle; InputError if it is not a pickle of plain data. Nothing in it is ever called."""
    if len(data) > MOST_BYTES:
        raise InputError(f"larger than {MOST_BYTES >> 20} MiB: not a flight record", path)
    _check(data, path)
    try:
        return _Plain(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, ValueError, TypeError, IndexError, KeyError, EOFError, OverflowError) as error:
        raise InputError(f"a damaged pickle: {error}", path) from None
    except (MemoryError, RecursionError, AttributeError):
        raise InputError("a damaged pickle", path) from None


class _Plain(pickle.Unpickler):
    """The unpickler without imports, in case an instruction ever passes the check."""

    def find_class(self, module: str, name: str, /) -> Any:
        raise pickle.UnpicklingError(f"it imports {module}.{name}")


def _check(data: bytes, path: str) -> None:
    if not PROTOCOLS.match(data):
        raise InputError("not a pickle of protocol 2 to 5", path)
    at, containers = 2, 0
    while at < len(data):
        if run := FIXED.match(data, at):
            at = run.end()
            containers += sum(map(run[0].count, CONTAINERS))
            if containers > MOST_CONTAINERS:
                raise InputError(f"rejected: it has more than {MOST_CONTAINERS} lists and the like", path)
            continue
        instruction = data[at : at + 1]
        if instruction == STOP:
            return
        if instruction not in STRINGS:
            raise InputError(
                f"rejected: plain data does not need its instruction {instruction!r} at byte {at} "
                "(a flight record of PyTorch is made of lists, strings and numbers), or it is damaged there",
                path,
            )
        begin = at + 1 + STRINGS[instruction]
        at = begin + int.from_bytes(data[at + 1 : begin], "little")
    raise InputError("cut off: the pickle has no end", path)
