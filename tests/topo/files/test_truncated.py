# SPDX-License-Identifier: Apache-2.0
"""Packed files that break off: an error with what to try, or, of a log, what there is and a notice."""

import bz2
import gzip
import lzma
import random

import pytest
import zstandard

from railgauge.topo.errors import InputError, TruncatedError
from railgauge.topo.files.input_file import blocks, read_bytes

TEXT = random.Random(1).randbytes(600 << 10)
FORMS = {
    "gz": gzip.compress,
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}
forms = pytest.mark.parametrize("form", FORMS)


def packed(folder, form, *, keep=None, data=TEXT):
    path = folder / f"a.{form}"
    path.write_bytes(FORMS[form](data)[:keep])
    return str(path)


@forms
def test_a_file_that_breaks_off_is_an_error_with_what_to_try(tmp_path, form):
    path = packed(tmp_path, form, keep=400 << 10)
    with pytest.raises(TruncatedError, match="not a readable archive: truncated") as found:
        read_bytes(path, 1 << 30)
    assert found.value.path == path
    assert found.value.exit_status == 5


@forms
def test_a_log_that_breaks_off_is_read_as_far_as_it_goes(tmp_path, form):
    told = []
    found = b"".join(blocks(packed(tmp_path, form, keep=400 << 10), told.append))
    size, beginning = len(found), TEXT[: len(found)]
    same = found == beginning
    assert same
    assert size > 1 << 17
    assert ["truncated" in one and "as far as it goes" in one for one in told] == [True]


@forms
def test_nothing_but_the_magic_is_an_error_also_for_a_log(tmp_path, form):
    with pytest.raises(InputError, match="truncated"):
        b"".join(blocks(packed(tmp_path, form, keep=6), pytest.fail))


@forms
def test_a_whole_file_of_several_parts_is_read_without_a_notice(tmp_path, form):
    path = tmp_path / f"a.{form}"
    path.write_bytes(FORMS[form](b"one ") + (b"" if form == "xz" else FORMS[form](b"two")))
    assert b"".join(blocks(str(path), pytest.fail)) == (b"one " if form == "xz" else b"one two")


def test_frames_as_small_as_lines_are_blocks_as_large_as_others(tmp_path):
    frames = [FORMS["zst"](b"line %d\n" % number) for number in range(5000)]
    (tmp_path / "a.zst").write_bytes(b"".join(frames))
    found = list(blocks(str(tmp_path / "a.zst"), pytest.fail))
    assert b"".join(found) == b"".join(b"line %d\n" % number for number in range(5000))
    assert len(found) < 5
    (tmp_path / "b.zst").write_bytes(b"".join(frames)[:-1])
    told = []
    assert b"".join(blocks(str(tmp_path / "b.zst"), told.append)).endswith(b"line 4998\nline 4999")
    assert len(told) == 1


@forms
def test_packed_nothing_is_nothing(tmp_path, form):
    assert read_bytes(packed(tmp_path, form, data=b""), 100) == b""


def test_damaged_data_is_named_as_that(tmp_path):
    path = tmp_path / "a.gz"
    good = gzip.compress(b"line\n" * 100_000)
    path.write_bytes(good[:100] + b"\xff" * 20 + good[120:])
    with pytest.raises(InputError, match=r"not a readable archive: .*copy or pack it again"):
        read_bytes(str(path), 1 << 30)
