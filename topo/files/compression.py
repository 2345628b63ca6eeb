# SPDX-License-Identifier: Apache-2.0
"""Archives packed and unpacked: .tar.zst and .tar.gz written; zstd, gzip, bzip2, xz and plain tar read, and any file
that is packed so.

The first bytes decide the format, not the name. Reading an archive stops at MAX_TOTAL bytes, as a guard against bombs.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from railgauge.topo.errors import InputError, TruncatedError

BREAKS_OFF = "not a readable archive: truncated, the packed data ends early; copy or pack it again"
MAX_TOTAL = 64 << 20
MAX_XZ_MEMORY = 128 << 20  # xz -9 needs 65 MiB; a file may demand 4 GiB
BLOCK = 1 << 18
ZSTD_PIECE = 512  # packed bytes at a time: a block unpacks to 128 KiB at most, and may be 4 bytes long
Read: TypeAlias = Callable[[int], bytes]
LONGEST_MAGIC = 6  # bytes, of xz
TAR_MAGIC, TAR_MAGIC_AT = b"ustar", 257  # POSIX 1003.1, "ustar Interchange Format"


def pack(data: bytes, suffix: str) -> bytes:
    """Compress in the format of the suffix; KeyError for one not in WRITERS. The same data gives the same bytes."""
    return WRITERS[suffix](data)


def is_archive(data: bytes) -> bool:
    """Whether `unpack` knows the format by these first bytes (262 or more)."""
    return _reader(data) is not None


def unpack(data: bytes, path: str) -> bytes:
    """The tar archive inside, checksums checked; InputError when it is damaged, empty or larger than MAX_TOTAL."""
    reader = _reader(data)
    if reader is None:
        raise InputError("not a capture: neither zstd, gzip, bzip2, xz nor tar", path)
    try:
        tar = reader(data)
    except EOFError as error:
        raise InputError(BREAKS_OFF, path) from error
    except Exception as error:  # each library has its own exception
        raise InputError(f"not a readable archive: {error}", path) from error
    if not tar:  # zstd's library takes a truncated block for the end
        raise InputError("truncated or empty archive", path)
    if len(tar) > MAX_TOTAL:
        raise InputError(f"unpacks to more than {MAX_TOTAL >> 20} MiB", path)
    return tar


def plain(packed: Iterable[bytes], path: str) -> Iterator[bytes]:
    """The blocks of a file, unpacked where they are packed; TruncatedError where that breaks off, InputError where it
    is damaged.

    What an archive holds is not taken apart: of a .tar.gz it is the tar.
    """
    blocks = iter(packed)
    first = next(blocks, b"")
    while 0 < len(first) < LONGEST_MAGIC and (more := next(blocks, b"")):
        first += more
    opener = next((one for magic, one in STREAMS.items() if first.startswith(magic)), None)
    rest = _chained(first, blocks)
    if opener is None:
        yield from rest
        return
    try:
        read = opener(io.BufferedReader(BlockStream(rest), BLOCK))
        while block := read(BLOCK):
            yield block
    except InputError:
        raise
    except EOFError as error:
        raise TruncatedError(BREAKS_OFF, path) from error
    except Exception as error:  # each library has its own exception
        raise InputError(f"not a readable archive: {error}; copy or pack it again", path) from error


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


class BlockStream(io.RawIOBase):
    """Blocks as a stream."""

    def __init__(self, content: Iterable[bytes]) -> None:
        self._content = iter(content)
        self._rest = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the next block goes."""
        self._rest = self._rest or next(self._content, b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _reader(data: bytes) -> Callable[[bytes], bytes] | None:
    if data[TAR_MAGIC_AT : TAR_MAGIC_AT + len(TAR_MAGIC)] == TAR_MAGIC:
        return bytes
    return next((reader for magic, reader in READERS.items() if data.startswith(magic)), None)


def _write_zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=19, write_checksum=True).compress(data)


def _write_gzip(data: bytes) -> bytes:
    import gzip

    return gzip.compress(data, 9, mtime=0)


def _read_zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read(MAX_TOTAL + 1)


def _read_gzip(data: bytes) -> bytes:
    import gzip

    return gzip.GzipFile(fileobj=io.BytesIO(data)).read(MAX_TOTAL + 1)


def _read_bzip2(data: bytes) -> bytes:
    import bz2

    return bz2.BZ2File(io.BytesIO(data)).read(MAX_TOTAL + 1)


def _read_xz(data: bytes) -> bytes:
    import lzma

    stream = lzma.LZMADecompressor(memlimit=MAX_XZ_MEMORY)
    tar = stream.decompress(data, MAX_TOTAL + 1)
    if not stream.eof and len(tar) <= MAX_TOTAL:
        raise EOFError("truncated: no end mark")
    return tar


class _ZstdStream:
    """A reader of zstd that tells a frame which breaks off from the end, which zstandard's own does not."""

    def __init__(self, file: Any) -> None:
        import zstandard

        self._file, self._rest = file, b""
        self._reader = zstandard.ZstdDecompressor()
        self._frame: Any = None

    def read(self, size: int) -> bytes:
        """About so many bytes, of frames that may be as small as lines; none at the end. EOFError within a frame."""
        found: list[bytes] = []
        while size > 0 and (piece := self._rest or self._file.read(ZSTD_PIECE)):
            frame = self._frame or self._reader.decompressobj()
            found.append(frame.decompress(piece))
            self._rest, self._frame = (frame.unused_data, None) if frame.eof else (b"", frame)
            size -= len(found[-1])
        if self._frame is not None and not any(found):
            raise EOFError("no end of the frame")
        return b"".join(found)


def _zstd_stream(file: Any) -> Read:
    return _ZstdStream(file).read


def _gzip_stream(file: Any) -> Read:
    import gzip

    return gzip.GzipFile(fileobj=file).read1


def _bzip2_stream(file: Any) -> Read:
    import bz2

    return bz2.BZ2File(file).read1


def _xz_stream(file: Any) -> Read:
    return _XzStream(file).read


class _XzStream:
    """A reader of xz with a limit on memory, which lzma's file has not."""

    def __init__(self, file: Any) -> None:
        import lzma

        self._file, self._stream = file, lzma.LZMADecompressor(memlimit=MAX_XZ_MEMORY)

    def read(self, size: int) -> bytes:
        """At most so many bytes, none at the end."""
        while not self._stream.eof:
            found = self._stream.decompress(self._file.read(size) if self._stream.needs_input else b"", size)
            if found or self._stream.eof:
                return found
            if self._stream.needs_input and not self._file.peek(1):
                raise EOFError("no end mark")
        return b""


WRITERS = {".tar.zst": _write_zstd, ".tar.gz": _write_gzip}
STREAMS: dict[bytes, Callable[[Any], Read]] = {
    b"\x28\xb5\x2f\xfd": _zstd_stream,
    b"\x1f\x8b": _gzip_stream,
    b"BZh": _bzip2_stream,
    b"\xfd7zXZ\0": _xz_stream,
}
READERS = {b"\x28\xb5\x2f\xfd": _read_zstd, b"\x1f\x8b": _read_gzip, b"BZh": _read_bzip2, b"\xfd7zXZ\0": _read_xz}
