# SPDX-License-Identifier: Apache-2.0
"""The files of a tar archive, one after the other, as it is read; nothing is unpacked to disk."""

import io
import tarfile
from collections.abc import Iterable, Iterator
from typing import IO

from railgauge.topo.errors import InputError
from railgauge.topo.files.compression import BlockStream, plain
from railgauge.topo.files.input_file import BLOCK

MOST_MEMBERS = 1 << 17


def members(content: Iterable[bytes], path: str) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Name and blocks, unpacked, of each file in an archive; the blocks are read before the next file is asked for.

    InputError where the archive cannot be read, or holds more than MOST_MEMBERS.
    """
    stream = io.BufferedReader(BlockStream(content), BLOCK)
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for count, member in enumerate(tar):
                if count >= MOST_MEMBERS:
                    raise InputError(f"holds more than {MOST_MEMBERS} members", path)
                file = tar.extractfile(member) if member.isreg() else None
                if file:
                    name = f"{path}/{member.name}"
                    yield name, plain(_blocks_of(file, path), name)
    except InputError:
        raise
    except Exception as error:  # each library has an exception of its own
        raise _unreadable(error, path) from error


def _blocks_of(file: IO[bytes], path: str) -> Iterator[bytes]:
    try:
        while block := file.read(BLOCK):
            yield block
    except InputError:
        raise
    except Exception as error:
        raise _unreadable(error, path) from error


def _unreadable(error: Exception, path: str) -> InputError:
    return InputError(f"not a readable archive: {error}", path)
