# SPDX-License-Identifier: Apache-2.0
"""Packed files are read as what they hold, by content; what breaks off is bad input."""

import bz2
import gzip
import io
import lzma
import sys

import pytest
import zstandard

from railgauge.topo.errors import InputError
from railgauge.topo.files.input_file import blocks, read_bytes

TEXT = b"".join(b"line %d\n" % number for number in range(90_000))
PACKED = {
    "plain": TEXT,
    "gz": gzip.compress(TEXT),
    "two gz": gzip.compress(TEXT[:500]) + gzip.compress(TEXT[500:]),
    "zst": zstandard.ZstdCompressor().compress(TEXT),
    "two zst": zstandard.ZstdCompressor().compress(TEXT[:500]) + zstandard.ZstdCompressor().compress(TEXT[500:]),
    "bz2": bz2.compress(TEXT),
    "xz": lzma.compress(TEXT, preset=0),
}


@pytest.mark.parametrize("kind", PACKED)
def test_a_packed_file_is_what_it_holds(tmp_path, kind):
    path = tmp_path / "any.name"
    path.write_bytes(PACKED[kind])
    assert b"".join(blocks(str(path))) == TEXT
    assert read_bytes(str(path), 100) == TEXT[:101]
    assert read_bytes(str(path), 1 << 30, packed=True) == PACKED[kind]


@pytest.mark.parametrize("kind", ["plain", "gz", "zst"])
def test_stdin_may_be_packed(monkeypatch, kind):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PACKED[kind])))
    assert read_bytes("-", 1 << 30) == TEXT


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_what_breaks_off_is_bad_input(tmp_path, kind):
    (tmp_path / "x").write_bytes(PACKED[kind][:-20])
    with pytest.raises(InputError, match="not a readable archive"):
        list(blocks(str(tmp_path / "x")))


@pytest.mark.parametrize("size", range(9))
def test_short_files_are_read(tmp_path, size):
    (tmp_path / "x").write_bytes(b"\x1e\x8b345678"[:size])
    assert b"".join(blocks(str(tmp_path / "x"))) == b"\x1e\x8b345678"[:size]
