# SPDX-License-Identifier: Apache-2.0
"""NCCL's model: its own table of latency and bandwidth, and its choice of algorithm and protocol."""

import pytest
from tests.topo.predict.planned import plan

from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.predict.nccl_constants import ORDER
from railgauge.topo.predict.nccl_model import channels_used, choose, estimate, ll128_is_trusted

RING, TREE = Algorithm.RING, Algorithm.TREE
LOGGED = {  # NCCL 2.28.9 on 4 x H200, NCCL_DEBUG_SUBSYS=TUNING: us/GB/s of LL, LL128, Simple
    (Collective.BROADCAST, RING): ("7.2/141.0", "15.9/331.2", "11.8/360.0"),
    (Collective.REDUCE, RING): ("7.2/141.0", "15.9/331.2", "11.8/360.0"),
    (Collective.ALL_GATHER, RING): ("8.4/188.0", "19.7/441.6", "18.6/480.0"),
    (Collective.REDUCE_SCATTER, RING): ("8.4/188.0", "19.7/441.6", "18.6/480.0"),
    (Collective.ALL_REDUCE, RING): ("10.2/94.0", "25.4/220.8", "28.8/240.0"),
    (Collective.ALL_REDUCE, TREE): ("10.4/43.6", "21.5/128.8", "32.4/165.6"),
}


@pytest.mark.parametrize("key", LOGGED, ids=lambda key: "-".join(key))
def test_latency_and_bandwidth_are_those_that_nccl_logs(key):
    collective, algorithm = key
    found = [estimate(plan("@h200x4"), collective, algorithm, protocol) for protocol in ORDER]
    assert tuple(f"{one.latency_us:.1f}/{one.gb_per_s:.1f}" for one in found) == LOGGED[key]


def chosen(where, size, collective=Collective.ALL_REDUCE, **settings):
    found = choose(where, collective, size, read_allowed(settings))
    return found and (found.algorithm.value, found.protocol.value)


def test_the_choice_that_nccl_logged():
    """AllReduce: 4194304 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..23}, same run."""
    assert chosen(plan("@h200x4"), 4 << 20) == ("ring", "ll128")
    assert channels_used(plan("@h200x4"), 4 << 20, RING, Protocol.LL128) == 24


def test_small_sizes_run_on_few_channels():
    assert channels_used(plan("@h200x4"), 8, RING, Protocol.LL) == 1


def test_protocols_follow_each_other_as_sizes_grow():
    found = [chosen(plan("@h200x4"), 1 << power)[1] for power in range(3, 31)]
    assert [one for one, _ in zip(found, ["", *found], strict=False) if one != _] == ["ll", "ll128", "simple"]


def test_many_nodes_take_the_tree_for_small_sizes_and_the_ring_for_the_largest():
    assert chosen(plan("@dgx-a100", 32), 8) == ("tree", "ll")
    assert chosen(plan("@dgx-a100", 4), 4 << 30) == ("ring", "simple")


def test_without_nvlink_there_is_no_ll128_unless_it_is_asked_for():
    assert not ll128_is_trusted(plan("@h200x4", p2p=False), RING)
    assert all(chosen(plan("@h200x4", p2p=False), 1 << power)[1] != "ll128" for power in range(3, 31))
    assert chosen(plan("@h200x4", p2p=False), 8, NCCL_PROTO="LL128")[1] == "ll128"


def test_settings_narrow_the_choice():
    assert chosen(plan("@h200x4"), 8, NCCL_ALGO="Tree") == ("tree", "ll")
    assert chosen(plan("@h200x4"), 8, NCCL_ALGO="Ring", NCCL_PROTO="Simple") == ("ring", "simple")
    assert chosen(plan("@dgx-a100"), 8, NCCL_ALGO="NVLS") is None
    assert chosen(plan("@h200x4"), 8, Collective.BROADCAST, NCCL_ALGO="Tree") is None
