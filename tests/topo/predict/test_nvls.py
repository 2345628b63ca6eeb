# SPDX-License-Identifier: Apache-2.0
"""NVLS, NVLS tree, PAT and CollNet: where NCCL has them by release, type and settings, its figures, and times."""

from dataclasses import replace

import pytest
from tests.topo.predict.planned import plan

from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.nccl.settings.steering import read_steering
from railgauge.topo.predict.forecast import forecast, nccl_rows
from railgauge.topo.predict.nccl_model import choose, estimate, may_run
from railgauge.topo.predict.nvls import channels, chunk_bytes
from railgauge.topo.predict.nvls_graph import fullest, graph_of
from railgauge.topo.predict.release import NEWEST, known_release, parse_release, since

H100, MIB, GIB = "@dgx-h100", 1 << 20, 1 << 30
ALL_REDUCE, ALL_GATHER = Collective.ALL_REDUCE, Collective.ALL_GATHER
NVLS, NVLS_TREE, PAT = Algorithm.NVLS, Algorithm.NVLS_TREE, Algorithm.PAT
DIRECT, CHAIN = Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN
SIMPLE = Protocol.SIMPLE


def of(name, nodes=1, release=NEWEST, settings=None, **changes):
    """The plan of a fixture with a release and settings; the channels are the default's."""
    steering = read_steering(settings or {})
    return replace(plan(name, nodes), release=release, steering=steering, **changes)


def row(where, size, collective=ALL_REDUCE, **settings):
    (found,) = forecast(where, collective, (size,), read_allowed(settings), nccl_rows).rows
    return found


def algorithm(where, size=8 * GIB, collective=ALL_REDUCE, **settings):
    return choose(where, collective, size, read_allowed(settings)).algorithm.value


def test_a_dgx_h100_reaches_what_is_published_with_nvls_and_without():
    assert 470 < row(of(H100), 8 * GIB).busbw_gb_per_s < 485
    without = row(of(H100, settings={"NCCL_NVLS_ENABLE": "0"}), 8 * GIB)
    assert without.algorithm is Algorithm.RING
    assert 340 < without.busbw_gb_per_s < 365
    assert 450 < row(of(H100, 2), 8 * GIB).busbw_gb_per_s < 490


def test_heads_and_speeds_are_those_of_nccls_search():
    """8 x 40 of 18 links of 20.6 GB/s, nine shares of which fit; towards the network as much as NICs have."""
    one, two = graph_of(of(H100)), graph_of(of(H100, 2))
    assert (one.heads, one.gb_per_s_intra, one.gb_per_s_inter) == (8, 40.0, 60.0)
    assert (two.heads, two.gb_per_s_intra, two.gb_per_s_inter) == (8, 40.0, 48.0)
    four = graph_of(of("@h200x4"))
    assert (four.heads, four.gb_per_s_intra) == (4, 60.0)


@pytest.mark.parametrize(
    ("release", "nodes", "wanted"),
    [
        ((2, 16, 5), 1, "ring"),
        ((2, 18, 5), 1, "nvls"),
        ((2, 20, 5), 1, "nvls"),
        ((2, 20, 5), 2, "ring"),
        ((2, 21, 5), 2, "nvlstree"),
        (NEWEST, 2, "nvlstree"),
    ],
)
def test_nvls_comes_with_its_release_and_2_20_has_no_tree_of_it(release, nodes, wanted):
    assert algorithm(of(H100, nodes, release)) == wanted


def test_two_gpus_have_nvls_from_2_28_7_on():
    system = plan(H100).system
    few = replace(of(H100), system=replace(system, ranks=system.ranks[:2]))
    assert graph_of(replace(few, release=(2, 28, 3))) is None
    assert graph_of(few).heads == 2


@pytest.mark.parametrize("name", ["@dgx-a100", "@h200nvl", "@dgx-2"])
def test_older_gpus_and_bridges_have_none(name):
    assert graph_of(of(name)) is None


def test_p2p_off_leaves_none():
    assert graph_of(plan("@h200x4", p2p=False)) is None


@pytest.mark.parametrize(
    ("datatype", "redop", "there"),
    [
        ("float", "sum", True),
        ("float", "max", False),
        ("bfloat16", "min", True),
        ("int8", "sum", False),
        ("f8e4m3", "sum", False),
        ("half", "avg", False),
        ("int64", "max", True),
    ],
)
def test_types_and_operators_that_switches_reduce(datatype, redop, there):
    where = of(H100, datatype=datatype, redop=redop)
    assert may_run(where, ALL_REDUCE, NVLS) is there
    assert may_run(where, Collective.REDUCE_SCATTER, NVLS) is there
    assert may_run(where, ALL_GATHER, NVLS)
    assert not may_run(where, Collective.BROADCAST, NVLS)


def test_the_tree_is_for_several_nodes_and_all_reduce_alone():
    assert not may_run(of(H100), ALL_REDUCE, NVLS_TREE)
    assert may_run(of(H100, 2), ALL_REDUCE, NVLS_TREE)
    assert not may_run(of(H100, 2), ALL_GATHER, NVLS_TREE)
    assert not may_run(of(H100, 2), ALL_REDUCE, NVLS)


@pytest.mark.parametrize(
    ("release", "nodes", "by", "gb_per_s"),
    [
        ((2, 18, 5), 1, NVLS, 8 * 40 * 5 / 6),
        ((2, 27, 7), 2, NVLS_TREE, 8 * 40 * 5 / 6),
        ((2, 27, 7), 4, NVLS_TREE, 8 * 24 * 5 / 6),
        (NEWEST, 1, NVLS, 8 * 40 * 0.85 * 7 / 8 * 2 * 8 / 14),
        (NEWEST, 2, NVLS_TREE, 8 * 57.7 * 16 / 30),
        (NEWEST, 4, NVLS_TREE, 8 * 45.5 * 32 / 62),
    ],
)
def test_nccls_own_bandwidths(release, nodes, by, gb_per_s):
    assert estimate(of(H100, nodes, release), ALL_REDUCE, by, SIMPLE).gb_per_s == pytest.approx(gb_per_s)


@pytest.mark.parametrize(
    ("release", "nodes", "by", "us"),
    [
        ((2, 17, 1), 1, NVLS, 40.0),
        ((2, 20, 5), 1, NVLS, 23.0),
        (NEWEST, 1, NVLS, 25.0),
        ((2, 27, 7), 4, NVLS_TREE, 25 + 2 * 2 * 14.0),
        (NEWEST, 4, NVLS_TREE, 25 + 2 * 2 * 20.9),
    ],
)
def test_nccls_own_latencies(release, nodes, by, us):
    assert estimate(of(H100, nodes, release), ALL_REDUCE, by, SIMPLE).latency_us == pytest.approx(us)


def test_channels_by_generation_and_release_and_chunks_by_size():
    assert channels(of(H100)) == 16
    assert [channels(of("@gb200-tray", 1, release)) for release in ((2, 24, 3), (2, 26, 2), NEWEST)] == [16, 32, 24]
    where = of(H100)
    sizes = [MIB, 8 * MIB, 20 * MIB, 200 * MIB, 2 * GIB]
    assert [chunk_bytes(where, graph_of(where), size) >> 10 for size in sizes] == [16, 32, 32, 64, 128]


def test_a_gpu_sends_nine_eighths_of_its_data_where_a_ring_sends_seven_quarters():
    where = of(H100)
    assert fullest(where, graph_of(where), ALL_REDUCE).gb_per_s == pytest.approx(370.8 * 8 / 9)


def test_a_narrow_link_limits_nvls_within_and_between_nodes():
    lost = row(plan("@dgx-h100-nvlink-down"), 8 * GIB)
    assert lost.busbw_gb_per_s == pytest.approx(row(of(H100), 8 * GIB).busbw_gb_per_s * 17 / 18, rel=0.01)
    assert lost.limit.device == "GPU2"


def test_small_sizes_stay_with_ll_and_trees_of_several_nodes_cross_twice():
    assert algorithm(of(H100), 8) == "ring"
    two, four = (row(of(H100, nodes), 8 * GIB, NCCL_ALGO="NVLSTree") for nodes in (2, 4))
    assert (two.limit.device, four.limit.device) == ("GPU0", "NIC0")
    assert four.cost.transfer_us > 1.3 * two.cost.transfer_us


@pytest.mark.parametrize(("release", "there"), [((2, 22, 3), False), ((2, 23, 4), True), (NEWEST, True)])
def test_pat_is_for_one_rank_a_node(release, there):
    assert may_run(of("@gh200", 16, release), ALL_GATHER, PAT) is there
    assert not may_run(of("@gh200", 16, release), ALL_REDUCE, PAT)
    assert not may_run(of(H100, 16, release), ALL_GATHER, PAT)


def test_pat_grows_with_the_logarithm_and_settings_steer_it():
    assert algorithm(of("@gh200", 64), 8, ALL_GATHER) == "pat"
    assert algorithm(of("@gh200", 64, settings={"NCCL_PAT_ENABLE": "0"}), 8, ALL_GATHER) == "ring"
    assert may_run(of(H100, 2, settings={"NCCL_PAT_ENABLE": "1"}), ALL_GATHER, PAT)
    assert not may_run(of("@gh200", 4, redop="avg"), Collective.REDUCE_SCATTER, PAT)
    few, many = (estimate(of("@gh200", nodes), ALL_GATHER, PAT, SIMPLE).latency_us for nodes in (2, 64))
    net = 14.0 + 2 * plan("@gh200", 2).graphs.ring.latency_inter
    assert few == pytest.approx(8 + net / 3.5 + 2 * 2.8)
    assert many - few == pytest.approx(5 * net / 3.5 + 62 * 2.8)


def test_collnet_needs_its_setting_and_several_nodes():
    on = {"NCCL_COLLNET_ENABLE": "1"}
    assert not may_run(of(H100, 4), ALL_REDUCE, DIRECT)
    assert may_run(of(H100, 4, settings=on), ALL_REDUCE, DIRECT)
    assert may_run(of(H100, 4, settings=on), ALL_REDUCE, NVLS)
    assert not may_run(of(H100, 1, settings=on), ALL_REDUCE, DIRECT)
    assert [may_run(of("@a100-4gpu", 4, settings=on), ALL_REDUCE, one) for one in (DIRECT, CHAIN)] == [False, True]
    assert estimate(of(H100, 4, settings=on), ALL_REDUCE, DIRECT, SIMPLE).gb_per_s == pytest.approx(8 * 48 * 0.85 / 2)
    assert row(of(H100, 4, settings=on), 8 * GIB, NCCL_ALGO="CollNetDirect").algorithm is DIRECT
    assert algorithm(of(H100, 32, settings=on)) == "nvls"


def test_ring_and_tree_figures_follow_the_release():
    """The latency of a Simple tree on one node: 2.18 and 2.23 on have 4 us a step, 2.19 to 2.22 have 28."""
    tree = [
        estimate(of("@h200x4", 1, release), ALL_REDUCE, Algorithm.TREE, SIMPLE).latency_us
        for release in ((2, 18, 5), (2, 20, 5), (2, 23, 4))
    ]
    assert tree == pytest.approx([2 * 3 * 4.0, 2 * 3 * 28.0, 8.4 + 2 * 3 * 4.0])
    ll = [
        estimate(of("@h200x4", 1, release), ALL_REDUCE, Algorithm.RING, Protocol.LL).gb_per_s
        for release in ((2, 20, 5), (2, 21, 5))
    ]
    assert ll == pytest.approx([87.7 * 4 / 6, 141.0 * 4 / 6])


def test_releases_are_read_and_rows_found():
    assert parse_release("2.18") > parse_release("2.18.6")
    assert known_release("2.28.9") == (2, 28, 9)
    assert known_release(None) == known_release("RCCL 2.22") == NEWEST
    rows = (((2, 20, 0), "new"), ((2, 18, 0), "old"))
    assert [since(rows, one) for one in ((2, 25, 0), (2, 19, 9), (2, 9, 9))] == ["new", "old", "old"]
