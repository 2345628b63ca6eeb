# SPDX-License-Identifier: Apache-2.0
"""Pickles of plain data, as PyTorch writes its flight records: containers, strings, numbers, and nothing else.

A pickle is a program for a small machine that can also import modules and call what is in them. Its instructions are
looked at before any of them runs: one that plain data does not need is refused, and so is one that asks for more memory
than the file has bytes for. What is left builds lists, dictionaries, strings and numbers. Tuples come back as lists,
which are no key of a dictionary: of a key all that is inside is read, however deep and however often it is there.
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
CONTAINERS = (b"]", b"}", b")", b"t", b"\x85", b"\x86", b"\x87")
PROTOCOLS = re.compile(rb"\x80[\x02-\x05]")
TUPLE = rb"[)t\x85\x86\x87]"
OTHERS = (
    rb"h.|j....|q.|r..[\x00-\x3f]\x00|\x94"  # the memo read and written, up to 4 million values
    rb"|K.|M..|J....|G........|\x8a(?:\x00|\x01.|\x02..|\x03...|\x04....|\x05.{5}|\x06.{6}|\x07.{7}|\x08.{8}|\x09.{9})"
    rb"|[\x88\x89N]"  # True, False, None
    rb"|[\](}aesu]"  # marks, containers and what is put into them
    rb"|\x95.{8}"  # the length of a frame, which readers in memory pass over
)
FIXED = re.compile(rb"(?:" + OTHERS + rb"|" + TUPLE + rb"){1,1024}+", re.DOTALL)
"""Instructions of which the length is known, a run of them."""
MAY_HAVE_TUPLES = re.compile(TUPLE)
TUPLES = re.compile(rb"(?:" + OTHERS + rb")++|(" + TUPLE + rb")", re.DOTALL)
"""The parts of a run: those that make tuples each by itself."""
TO_OURSELVES = b"Q"
"""BINPERSID: the unpickler hands the last value to its `persistent_load`, and goes on with what that gives."""
STRINGS = {b"X": 4, b"\x8c": 1}
"""BINUNICODE and SHORT_BINUNICODE, and the bytes of their length."""
STOP = b"."


def load(data: bytes, path: str) -> Any:
    """The value in a pickle; InputError if it is not a pickle of plain data. Nothing in it is ever called."""
    if len(data) > MOST_BYTES:
        raise InputError(f"larger than {MOST_BYTES >> 20} MiB: not a flight record", path)
    checked = _checked(data, path)
    try:
        return _Plain(io.BytesIO(checked)).load()
    except (pickle.UnpicklingError, ValueError, TypeError, IndexError, KeyError, EOFError, OverflowError) as error:
        raise InputError(f"a damaged pickle: {error}", path) from None
    except (MemoryError, RecursionError, AttributeError):
        raise InputError("a damaged pickle", path) from None


class _Plain(pickle.Unpickler):
    """The unpickler without imports, in case an instruction ever passes the check, and without tuples."""

    def find_class(self, module: str, name: str, /) -> Any:
        raise pickle.UnpicklingError(f"it imports {module}.{name}")

    def persistent_load(self, pid: tuple[Any, ...], /) -> list[Any]:
        return list(pid)


def _checked(data: bytes, path: str) -> bytes:
    """The pickle, with its tuples as lists; InputError for an instruction that plain data does not need."""
    if not PROTOCOLS.match(data):
        raise InputError("not a pickle of protocol 2 to 5", path)
    at, containers, copied, pieces = 2, 0, 0, list[bytes]()
    while at < len(data):
        if run := FIXED.match(data, at):
            at = run.end()
            containers += sum(map(run[0].count, CONTAINERS))
            if containers > MOST_CONTAINERS:
                raise InputError(f"rejected: it has more than {MOST_CONTAINERS} lists and the like", path)
            if MAY_HAVE_TUPLES.search(run[0]):
                pieces += [data[copied : run.start()], TUPLES.sub(_as_list, run[0])]
                copied = at
            continue
        instruction = data[at : at + 1]
        if instruction == STOP:
            return b"".join([*pieces, data[copied:]])
        if instruction not in STRINGS:
            raise InputError(
                f"rejected: plain data does not need its instruction {instruction!r} at byte {at} "
                "(a flight record of PyTorch is made of lists, strings and numbers), or it is damaged there",
                path,
            )
        begin = at + 1 + STRINGS[instruction]
        at = begin + int.from_bytes(data[at + 1 : begin], "little")
    raise InputError("cut off: the pickle has no end", path)


def _as_list(found: re.Match[bytes]) -> bytes:
    return found[0] + TO_OURSELVES if found[1] else found[0]
