# SPDX-License-Identifier: Apache-2.0
"""A node's description travels, and what is none is refused."""

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.collectives.fake_machines import node

from railgauge.collectives.node import MOST_BYTES, JoiningNode


def test_a_description_comes_out_as_it_went_in(tmp_path):
    given_node = node(tmp_path, "gpu-01", 3, 2, {"lo": 10_000, "mlx5_0": 100_000})
    got = JoiningNode.unpack(given_node.pack())
    assert got.plan() == given_node.plan()
    assert (got.name, got.ranks, got.cpus) == ("gpu-01", 3, given_node.cpus)
    assert [got.device(dev) for dev in (0, 1)] == [given_node.device(dev) for dev in (0, 1)]
    assert got.plan()[2].ring.channels[0].nets


@given(st.binary(max_size=200))
def test_other_bytes_are_refused(data):
    with pytest.raises(ValueError, match=r".+"):
        JoiningNode.unpack(data)


@pytest.mark.parametrize("text", ["{}", "[]", '{"name": 3}', "not JSON"])
def test_another_form_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        JoiningNode.unpack(zlib.compress(text.encode()))


def test_what_would_fill_memory_is_refused():
    with pytest.raises(ValueError, match=f"more than {MOST_BYTES} bytes"):
        JoiningNode.unpack(zlib.compress(json.dumps("x" * (MOST_BYTES + 1)).encode()))
