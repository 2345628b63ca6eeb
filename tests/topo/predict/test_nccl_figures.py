# SPDX-License-Identifier: Apache-2.0
"""NCCL's figures, worked out by hand from the formulas and tables of its src/graph/tuning.cc (`ncclTopoTuneModel`,
`ncclTopoGetAlgoTime`), read in v2.30.7-1. Two DGX A100 are 16 ranks on AMD's CPUs, two DGX H100 on Intel's.

Older: until 2.29.3 a ring with LL128 had another maximum on Blackwell (73.4, 34.6 or 34.5 GB/s a channel), until 2.29.7
LL128 was trusted among GPUs of one kind alone. All other figures here are those of 2.28.3 too.
"""

from dataclasses import replace

import pytest
from tests.topo.predict.planned import plan, planned

from railgauge.topo.channels.graph import TREE as PLAIN_TREE
from railgauge.topo.compare.what_if import edited
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.predict.fabric import Fabric, FabricKind
from railgauge.topo.predict.nccl_cost import cost
from railgauge.topo.predict.nccl_model import (
    bus_gb_per_s,
    channels_most,
    estimate,
    ll128_is_trusted,
    nccl_time_us,
    tree_share,
)
from railgauge.topo.predict.passing import Passing
from railgauge.topo.predict.plan import NodePlan

RING, TREE = Algorithm.RING, Algorithm.TREE
LL, LL128, SIMPLE = Protocol.LL, Protocol.LL128, Protocol.SIMPLE
ALL_REDUCE, ALL_GATHER = Collective.ALL_REDUCE, Collective.ALL_GATHER
A100, H100 = "@dgx-a100", "@dgx-h100"
KIB = 1 << 10
BALANCED = 1  # NCCL_TOPO_PATTERN_BALANCED_TREE


def with_graph(where, algorithm, **changes):
    """A plan whose channels of an algorithm are others."""
    name = algorithm.value
    graph = replace(where.graph(algorithm), **changes)
    return replace(where, graphs=replace(where.graphs, **{name: graph}))


# Ring: base + (steps - inter) x max(within, overhead) + inter x between. Steps: 2 x (ranks - 1) of an all-reduce, of
# which 2 x (nodes - 1) go between nodes; half as many of the others. Overhead: 1 us, on AMD's CPUs 2; Simple 3 x.
RING_US = [
    (A100, 2, ALL_REDUCE, LL, 6.6 + 28 * 2.0 + 2 * 2.7),
    (A100, 2, ALL_REDUCE, LL128, 14.0 + 28 * 2.0 + 2 * 4.0),
    (A100, 2, ALL_REDUCE, SIMPLE, 8.4 + 28 * 6.0 + 2 * 14.0),
    (H100, 2, ALL_REDUCE, LL, 6.6 + 28 * 1.0 + 2 * 2.7),
    (H100, 2, ALL_REDUCE, LL128, 14.0 + 28 * 1.9 + 2 * 4.0),
    (H100, 2, ALL_REDUCE, SIMPLE, 8.4 + 28 * 3.4 + 2 * 14.0),
    (H100, 4, ALL_REDUCE, LL, 6.6 + 56 * 1.0 + 6 * 2.7),
    (H100, 4, ALL_GATHER, LL, 6.6 + 28 * 1.0 + 3 * 2.7),
    (H100, 1, ALL_REDUCE, LL, 6.6 + 14 * 0.6),
]


@pytest.mark.parametrize(("machine", "nodes", "collective", "protocol", "wanted"), RING_US)
def test_steps_of_a_ring_wait_for_the_network_or_its_overhead(machine, nodes, collective, protocol, wanted):
    assert estimate(plan(machine, nodes), collective, RING, protocol).latency_us == pytest.approx(wanted)


def test_a_tree_goes_up_and_down_each_node_once_and_the_logarithm_of_the_nodes():
    for nodes, levels in ((1, 0), (2, 1), (4, 2)):
        found = estimate(plan(H100, nodes), ALL_REDUCE, TREE, LL).latency_us
        assert found == pytest.approx(6.8 + 2 * (7 * 0.6 + levels * 5.0))


def test_the_latency_of_nics_counts_at_each_step_between_nodes_and_twice_with_simple_for_the_flush():
    slow = with_graph(plan(H100, 2), RING, latency_inter=3.0)
    for protocol, times in ((LL, 1), (LL128, 1), (SIMPLE, 2)):
        more = [estimate(one, ALL_REDUCE, RING, protocol).latency_us for one in (slow, plan(H100, 2))]
        assert more[0] - more[1] == pytest.approx(2 * times * 3.0)


def test_a_plain_tree_passes_0_85_of_a_balanced_one():
    plain, balanced = (with_graph(plan(H100, 2), TREE, pattern=pattern) for pattern in (PLAIN_TREE, BALANCED))
    for protocol in (LL, LL128, SIMPLE):
        shares = [bus_gb_per_s(one, TREE, protocol) for one in (plain, balanced)]
        assert shares[0] / shares[1] == pytest.approx(0.85)


def test_what_links_pass_of_a_plain_tree_is_0_85_too():
    slow = {"gb_per_s_intra": 10.0, "gb_per_s_inter": 10.0}  # no maximum of NCCL's is reached
    plain, balanced = (
        Passing(with_graph(plan(H100), TREE, pattern=pattern, **slow)) for pattern in (PLAIN_TREE, BALANCED)
    )
    assert plain.gb_per_s(TREE, SIMPLE) / balanced.gb_per_s(TREE, SIMPLE) == pytest.approx(0.85)


def test_with_one_gpu_a_node_no_tree_is_plainer_than_another():
    alone = planned(edited(load_machine(H100).topology, drops=[f"GPU{number}" for number in range(1, 8)]), 2)
    plain, balanced = (Passing(with_graph(alone, TREE, pattern=pattern)) for pattern in (PLAIN_TREE, BALANCED))
    assert plain.gb_per_s(TREE, SIMPLE) == balanced.gb_per_s(TREE, SIMPLE) > 0


# llMaxBws: by the GPUs' generation on one node, by the CPU's vendor on several (AMD the second row, Intel the first).
LL_MOST = [
    (A100, 2, 22.5),
    (A100, 3, 19.0),
    (A100, 4, 19.0),
    (H100, 2, 39.0),
    (H100, 3, 20.4),
]


@pytest.mark.parametrize(("machine", "nodes", "wanted"), LL_MOST)
@pytest.mark.parametrize("algorithm", [RING, TREE])
def test_ll_over_several_nodes_goes_by_the_vendor_of_the_cpu(machine, nodes, wanted, algorithm):
    fast = with_graph(plan(machine, nodes), algorithm, gb_per_s_intra=100.0, gb_per_s_inter=100.0, pattern=BALANCED)
    assert bus_gb_per_s(fast, algorithm, LL) == wanted


# GB/s a channel on 1, 2 and 3 nodes, by the first compute capability of a generation: perChMaxRingLL128Bws,
# perChMaxTreeLL128Bws, perChMaxTreeBws.
MOST_OF_A_CHANNEL = [
    (70, (20.0, 20.0, 20.0), (20.0, 20.0, 20.0), (26.5, 18.5, 10.0)),
    (80, (20.0, 20.0, 20.0), (20.0, 20.0, 20.0), (24.0, 23.6, 17.8)),
    (90, (36.7, 36.7, 36.7), (36.7, 36.7, 29.0), (38.7, 41.4, 36.0)),
    (100, (40.0, 40.0, 40.0), (55.6, 31.67, 20.0), (70.0, 42.8, 24.0)),
]


@pytest.mark.parametrize(("sm", "ring_ll128", "tree_ll128", "tree"), MOST_OF_A_CHANNEL)
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_a_channel_passes_no_more_than_the_maximum_of_its_generation(
    monkeypatch, sm, ring_ll128, tree_ll128, tree, nodes
):
    monkeypatch.setattr(NodePlan, "sms", property(lambda _: (sm, sm)))
    fast = plan(H100, nodes)
    for algorithm in (RING, TREE):
        fast = with_graph(fast, algorithm, gb_per_s_intra=100.0, gb_per_s_inter=100.0, pattern=BALANCED)
    rings, trees = len(fast.graphs.ring.channels), len(fast.graphs.tree.channels)
    simple = tree[nodes - 1]
    flagged = min(simple * (7 / 9 if nodes == 1 else 120 / 128), tree_ll128[nodes - 1])
    assert bus_gb_per_s(fast, RING, LL128) == pytest.approx(rings * ring_ll128[nodes - 1])
    assert bus_gb_per_s(fast, TREE, SIMPLE) == pytest.approx(trees * simple)
    assert bus_gb_per_s(fast, TREE, LL128) == pytest.approx(trees * flagged)


@pytest.mark.parametrize(("sm", "most"), [(70, 39.0), (80, 87.7), (90, 141.0), (100, 282.0)])
def test_ll_on_one_node_goes_by_the_generation_of_the_gpus(monkeypatch, sm, most):
    monkeypatch.setattr(NodePlan, "sms", property(lambda _: (sm, sm)))
    assert bus_gb_per_s(with_graph(plan(H100), RING, gb_per_s_intra=100.0), RING, LL) == most


def test_ll_takes_half_of_a_ring_and_1_of_3_8_of_a_tree_below_its_maximum():
    slow = {"gb_per_s_intra": 2.0, "gb_per_s_inter": 2.0, "pattern": BALANCED}
    assert bus_gb_per_s(with_graph(plan(H100, 2), RING, **slow), RING, LL) == pytest.approx(8 * 2.0 / 2)
    assert bus_gb_per_s(with_graph(plan(H100, 2), TREE, **slow), TREE, LL) == pytest.approx(8 * 2.0 * 0.92 / 3.8)


@pytest.mark.parametrize(("machine", "channel"), [(A100, 20.0), (H100, 36.7)])
def test_a_ring_with_ll128_passes_0_92_and_no_more_than_its_maximum_for_a_channel(machine, channel):
    fast = with_graph(plan(machine, 2), RING, gb_per_s_intra=60.0)
    slow = with_graph(plan(machine, 2), RING, gb_per_s_intra=10.0)
    assert bus_gb_per_s(fast, RING, LL128) == pytest.approx(8 * channel)
    assert bus_gb_per_s(slow, RING, LL128) == pytest.approx(8 * 10.0 * 0.92)


@pytest.mark.parametrize(
    ("nodes", "share", "channel"),
    [(1, 7 / 9, 36.7), (2, 120 / 128, 36.7), (3, 120 / 128, 29.0)],
)
def test_a_tree_with_ll128_passes_its_share_and_no_more_than_its_maximum_for_a_channel(nodes, share, channel):
    slow, fast = (
        with_graph(plan(H100, nodes), TREE, gb_per_s_intra=speed, gb_per_s_inter=speed, pattern=BALANCED)
        for speed in (10.0, 60.0)
    )
    count = len(slow.graphs.tree.channels)
    simple = {1: 38.7, 2: 41.4, 3: 36.0}[nodes]  # perChMaxTreeBws, which comes first
    assert bus_gb_per_s(slow, TREE, LL128) == pytest.approx(count * 10.0 * 0.92 * share)
    assert bus_gb_per_s(fast, TREE, LL128) == pytest.approx(count * min(simple * share, channel))


@pytest.mark.parametrize(
    ("sms", "trusted"),
    [((60, 60), False), ((69, 69), False), ((70, 70), True), ((70, 80), False), ((80, 90), False), ((90, 100), True)],
)
def test_ll128_is_trusted_from_volta_on_among_gpus_of_one_kind_or_from_hopper_on(monkeypatch, sms, trusted):
    monkeypatch.setattr(NodePlan, "sms", property(lambda _: sms))
    assert ll128_is_trusted(plan(A100, 2), RING) is trusted


@pytest.mark.parametrize(
    ("machine", "within", "between", "trusted"),
    [
        (A100, "NVB", "PXB", True),
        (A100, "C2C", "PXB", False),
        (A100, "NVL", "PXN", False),
        (H100, "NVL", "PXN", True),
        (H100, "NVL", "PHB", False),
    ],
)
def test_ll128_is_trusted_over_nvlink_to_nics_below_the_same_switches_and_over_pxn_from_hopper_on(
    machine, within, between, trusted
):
    where = with_graph(plan(machine, 2), RING, type_intra=within, type_inter=between)
    assert ll128_is_trusted(where, RING) is trusted


# treeCorrectionFactor, by the logarithm of the size in units of 64 B; beyond 23 of them all of the bandwidth.
TREE_SHARES = [
    (LL, 32, 1.0),
    (LL, 64, 1.0),
    (LL, 1 * KIB, 0.9),
    (LL, 256 * KIB, 0.4),
    (LL, 512 * KIB - 1, 0.4),
    (LL, 1024 * KIB, 0.5),
    (LL128, 32 * KIB, 0.7),
    (LL128, 64 * KIB, 0.6),
    (SIMPLE, 63, 1.0),
    (SIMPLE, 64, 0.9),
    (SIMPLE, 256 << 20, 0.9),
    (SIMPLE, 512 << 20, 1.0),
]


@pytest.mark.parametrize(("protocol", "size", "share"), TREE_SHARES)
def test_a_tree_reaches_a_share_of_its_bandwidth_by_size(protocol, size, share):
    assert tree_share(size, protocol) == pytest.approx(share)
    found = estimate(plan(H100, 2), ALL_REDUCE, TREE, protocol)
    wanted = found.latency_us + size / (1e3 * found.gb_per_s * share)
    assert nccl_time_us(plan(H100, 2), ALL_REDUCE, size, TREE, protocol) == pytest.approx(wanted)


def test_the_share_of_a_size_counts_in_the_time_of_a_tree_and_not_of_a_ring():
    passing = Passing(plan(H100, 2))
    for algorithm, share in ((TREE, 0.4), (RING, 1.0)):
        each = [cost(passing, ALL_REDUCE, size, algorithm, LL).transfer_us / size for size in (256 * KIB, 1 << 30)]
        assert each[1] / each[0] == pytest.approx(share)


def test_a_ring_over_several_nodes_takes_longer_once_each_step_has_64_bytes():
    """ncclTopoGetAlgoTime: x 1.4 from Ampere on, x 1.9 before, for an all-reduce with Simple."""
    for machine, factor in ((A100, 1.4), ("@dgx-1v", 1.9)):
        where = plan(machine, 2)
        found = estimate(where, ALL_REDUCE, RING, SIMPLE)
        least = 64 * channels_most(where) * where.ranks
        times = [nccl_time_us(where, ALL_REDUCE, size, RING, SIMPLE) for size in (least // 2, least)]
        sent = [size / (1e3 * found.gb_per_s) for size in (least // 2, least)]
        assert times[0] == pytest.approx(found.latency_us + sent[0])
        assert times[1] == pytest.approx(found.latency_us * factor + sent[1])


def test_switches_above_the_leaves_add_to_each_step_that_goes_over_them():
    """Rails of switches with 4 ports: 2 nodes a leaf, so 8 nodes have 4; three levels: 2 x 2 x 0.25 us each."""
    near = plan(H100, 8)
    far = replace(near, fabric=Fabric(kind=FabricKind.RAIL, radix=4))
    crossings = {(ALL_REDUCE, RING): 2 * 3, (ALL_GATHER, RING): 3, (ALL_REDUCE, TREE): 2 * 2}
    for (collective, algorithm), times in crossings.items():
        costs = [cost(Passing(one), collective, 8, algorithm, LL).latency_us for one in (far, near)]
        assert costs[0] - costs[1] == pytest.approx(times * 1.0)
    assert replace(near, nodes=2).fabric.far_us(8, 2) == 0
