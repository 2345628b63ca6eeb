# SPDX-License-Identifier: Apache-2.0
"""NCCL_ALGO and NCCL_PROTO as NCCL's parseList reads them."""

import pytest

from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.nccl.settings.algorithms import read_allowed

ALL_REDUCE, BROADCAST = Collective.ALL_REDUCE, Collective.BROADCAST


def algorithms(text, collective=ALL_REDUCE):
    allowed = read_allowed({"NCCL_ALGO": text})
    return {one.value for one in (Algorithm.RING, Algorithm.TREE) if allowed.algorithm(collective, one)}


def protocols(text, collective=ALL_REDUCE, *, trusted=False):
    allowed = read_allowed({"NCCL_PROTO": text})
    return {one.value for one in Protocol if allowed.protocol(collective, one, trusted=trusted)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {"ring", "tree"}),
        ("Ring", {"ring"}),
        ("TREE", {"tree"}),
        ("^Tree", {"ring"}),
        ("^ring,tree", set()),
        ("NVLS", set()),
        ("ring;allreduce:tree", {"tree"}),
        ("allreduce:ring,tree;broadcast:ring", {"ring", "tree"}),
        ("broadcast:ring", {"ring", "tree"}),
        ("tree;broadcast:ring", {"tree"}),
    ],
)
def test_algorithms_of_all_reduce(text, found):
    assert algorithms(text) == found


def test_a_list_may_be_for_one_collective_alone():
    assert algorithms("tree;broadcast:ring", BROADCAST) == {"ring"}
    assert algorithms("allreduce:tree", BROADCAST) == {"ring", "tree"}


def test_ll128_is_used_where_it_is_trusted_or_asked_for():
    assert protocols("") == {"ll", "simple"}
    assert protocols("", trusted=True) == {"ll", "ll128", "simple"}
    assert protocols("LL128") == {"ll128"}
    assert protocols("^LL") == {"ll128", "simple"}
    assert protocols("broadcast:LL128") == {"ll", "simple"}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"NCCL_ALGO": "Rings"}, "'rings'"),
        ({"NCCL_PROTO": "LL256"}, "'ll256'"),
        ({"NCCL_ALGO": "alltoall:ring"}, "'alltoall'"),
        ({"NCCL_ALGO": "allreduce:ring;tree"}, "'tree'"),
    ],
)
def test_what_nccl_refuses_is_a_usage_error(settings, says):
    with pytest.raises(UsageError, match=says):
        read_allowed(settings)
