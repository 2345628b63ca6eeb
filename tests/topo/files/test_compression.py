# SPDX-License-Identifier: Apache-2.0
"""Archives in every format that is read: told by content, cut off when they grow too large, refused when damaged."""

import bz2
import gzip
import lzma

import pytest
import zstandard
from tests.topo.facts.test_tar_members import archive

from railgauge.topo.errors import InputError
from railgauge.topo.files import compression
from railgauge.topo.files.compression import WRITERS, is_archive, pack, unpack

FORMATS = {
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "tar": bytes,
}
TAR = archive(("manifest.json", b"{}"), ("root/a", b"x" * 3000))


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_is_told_by_its_content(form):
    packed = FORMATS[form](TAR)
    assert is_archive(packed[:300])
    assert unpack(packed, "x") == TAR


@pytest.mark.parametrize("form", FORMATS)
def test_a_bomb_is_cut_off(form, monkeypatch):
    monkeypatch.setattr(compression, "MAX_TOTAL", 1 << 20)
    bomb = FORMATS[form](archive(("root/big", bytes(2 << 20))))
    with pytest.raises(InputError, match="unpacks to more than 1 MiB"):
        unpack(bomb, "x")


@pytest.mark.parametrize("form", ["gzip", "bzip2", "xz"])
@pytest.mark.parametrize("lost", [1, 5, 12])
def test_a_lost_end_is_noticed(form, lost):
    with pytest.raises(InputError, match="not a readable archive"):
        unpack(FORMATS[form](TAR)[:-lost], "x")


def test_a_zstd_block_that_is_cut_off_is_not_taken_for_an_end():
    with pytest.raises(InputError, match="truncated or empty"):
        unpack(FORMATS["zstd"](TAR)[:20], "x")


def test_a_changed_byte_is_noticed_by_the_checksum():
    for suffix in WRITERS:
        packed = bytearray(pack(TAR, suffix))
        packed[-5] ^= 1
        with pytest.raises(InputError):
            unpack(bytes(packed), "x")


def test_xz_that_wants_much_memory_is_refused():
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 512 << 20}]
    with pytest.raises(InputError, match="not a readable archive"):
        unpack(lzma.compress(TAR, filters=filters), "x")


def test_packing_twice_gives_the_same_bytes():
    assert all(pack(TAR, suffix) == pack(TAR, suffix) for suffix in WRITERS)


@pytest.mark.parametrize("data", [b"", b"<system/>", bytes(1000), b"PK\3\4" + bytes(600)])
def test_what_is_no_archive_is_not_taken_for_one(data):
    assert not is_archive(data)
    with pytest.raises(InputError, match="neither zstd"):
        unpack(data, "x")
