# SPDX-License-Identifier: Apache-2.0
"""Pickles of plain data are read, whoever wrote them; nothing in any other ever runs."""

import contextlib
import os
import pickle
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.topo.jobs.hang.reading import dump, up_to

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.hang import plain_pickle
from railgauge.topo.jobs.hang.plain_pickle import load

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


class Reduces:
    """Asks its reader to call something."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def with_lists(value):
    if isinstance(value, dict):
        return {key: with_lists(one) for key, one in value.items()}
    return [with_lists(one) for one in value] if isinstance(value, list | tuple) else value


@given(PLAIN, st.sampled_from([2, 3, 4, 5]))
def test_plain_data_comes_back_with_its_tuples_as_lists(value, protocol):
    assert load(pickle.dumps(value, protocol), "file") == with_lists(value)


@pytest.mark.parametrize("protocol", [2, 4])
def test_tuples_of_any_length_and_shared_ones(protocol):
    shared = ("0", "default_pg")
    value = {"a": [(), (1,), shared, (1, 2, 3), (1, 2, 3, 4), shared, ((), (shared,))], "b": shared}
    assert load(pickle.dumps(value, protocol), "file") == with_lists(value)


def test_a_key_that_is_a_tuple_of_tuples_without_number_is_bad_input():
    """60 times a pair of the one before: its hash would be computed 2^60 times."""
    pairs = b"".join(b"h%ch%c\x86q%c" % (n, n, n + 1) for n in range(60))
    with pytest.raises(InputError, match="unhashable"):
        load(b"\x80\x02](})q\x00" + pairs + b"e}h%cK\x01s." % 60, "file")


def test_tuples_count_as_containers(monkeypatch):
    monkeypatch.setattr(plain_pickle, "MOST_CONTAINERS", 1000)
    with pytest.raises(InputError, match="more than 1000 lists"):
        load(b"\x80\x02(" + b")" * 2000 + b"t.", "file")


def test_a_dump_as_pytorch_writes_it():
    """Its strings are written once and then taken from the memo, its integers as 8 bytes."""
    name = b"X\x07\x00\x00\x00entriesq\x00"
    number = b"\x8a\x08" + struct.pack("<q", -5)
    assert load(b"\x80\x02}q\x01(" + name + b"]q\x02(" + number + b"h\x00\x88Neu.", "file") == {
        "entries": [-5, "entries", True, None]
    }


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("function", [os.system, eval, print, os.mkdir])
def test_a_call_is_refused_and_not_made(tmp_path, function, protocol):
    mark = tmp_path / "mark"
    content = pickle.dumps({"entries": Reduces(function, str(mark))}, protocol)
    with pytest.raises(InputError, match="rejected: plain data does not need its instruction"):
        load(content, "file")
    assert not mark.exists()


def test_past_the_look_at_instructions_nothing_is_imported_either(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_pickle, "_checked", lambda data, path: data)
    mark = tmp_path / "mark"
    with pytest.raises(InputError, match=r"it imports posix\.mkdir"):
        load(pickle.dumps(Reduces(os.mkdir, str(mark)), 4), "file")
    assert not mark.exists()


@pytest.mark.parametrize(
    "program",
    [
        b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00true\x85R.",  # GLOBAL, REDUCE
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",  # STACK_GLOBAL
        b"\x80\x02(ios\nsystem\n.",  # INST
        b"\x80\x02(cos\nsystem\no.",  # OBJ
        b"\x80\x02}}b.",  # BUILD
        b"\x80\x02K\x01Q.",  # BINPERSID
        b"\x80\x02\x82\x01.",  # EXT1
        b"\x80\x02\x8e" + struct.pack("<Q", 1 << 60) + b".",  # bytes of an absurd length
        b"\x80\x02]r\xff\xff\xff\x7f.",  # a memo of 2**31 values
        b"\x80\x02\x8b" + struct.pack("<I", 1 << 30) + b".",  # a number of a gigabyte
    ],
)
def test_other_instructions_are_refused(program):
    with pytest.raises(InputError, match="rejected"):
        load(program, "file")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80",
        b"{}",
        b"\x80\x09.",
        b"(lp0\n.",
        b"\x80\x02.",
        b"\x80\x02e.",
        b"\x80\x02h\x07.",
        b"\x80\x02]",
        b"\x80\x02(.",
    ],
)
def test_what_is_no_whole_pickle_is_bad_input(content):
    with pytest.raises(InputError, match=r"file: "):
        load(content, "file")


def test_every_cut_of_a_dump_is_bad_input():
    content = pickle.dumps(dump(up_to(3), ranks=2), 2)
    for end in range(0, len(content), 17):
        with pytest.raises(InputError):
            load(content[:end], "file")


def test_depth_does_no_harm():
    assert load(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".", "file")


def test_size_is_limited(monkeypatch):
    monkeypatch.setattr(plain_pickle, "MOST_CONTAINERS", 1000)
    with pytest.raises(InputError, match="more than 1000 lists"):
        load(b"\x80\x02(" + b"]" * 2000 + b"l.", "file")
    monkeypatch.setattr(plain_pickle, "MOST_BYTES", 10)
    with pytest.raises(InputError, match="larger than"):
        load(pickle.dumps("x" * 100), "file")


def test_a_string_that_claims_to_be_longer_than_the_file_is_bad_input():
    with pytest.raises(InputError, match="cut off"):
        load(b"\x80\x02X\xff\xff\xff\x7fabc.", "file")


@given(st.binary(max_size=200))
def test_noise_is_read_or_refused(noise):
    with contextlib.suppress(InputError):
        load(b"\x80\x02" + noise, "file")
