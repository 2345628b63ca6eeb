# SPDX-License-Identifier: Apache-2.0
"""Folded names: short, readable by ClusterShell again, and none is lost or made up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.topo.values.node_names import folded


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["gpu001", "gpu003", "gpu002"], "gpu[001-003]"),
        (["gpu-1"], "gpu-1"),
        (["a10", "a9", "b"], "a[9-10],b"),
        (["10.0.0.1", "10.0.0.2"], "10.0.0.[1-2]"),
        (["n1", "n[1-1000000000]", "@all", "n2"], "n[1-2],@all,n[1-1000000000]"),
        (["n1", "n99999999999999999999"], "n1,n99999999999999999999"),
        ([], ""),
    ],
)
def test_folded(names, text):
    assert folded(names) == text


@settings(deadline=None)
@given(st.sets(st.from_regex(r"[a-z]{1,3}-?[0-9]{1,4}(\.x)?", fullmatch=True), max_size=40))
def test_folded_names_unfold_again(names):
    nodeset = pytest.importorskip("ClusterShell.NodeSet")
    assert set(nodeset.NodeSet(folded(names))) == names
