# SPDX-License-Identifier: Apache-2.0
"""The choice of algorithms: always something that can run, by the times where there are some, within the settings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.collectives.cost.host_choice import ANY_SIZE
from railgauge.collectives.cost.host_cost import algorithms
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.tuning import ALGORITHMS, TuningScope, choose, usable_for, uses
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.transports.peer import this_peer

ALL_REDUCE, BROADCAST, ALL_GATHER = Collective.ALL_REDUCE, Collective.BROADCAST, Collective.ALL_GATHER
TIMES = st.dictionaries(
    st.sampled_from(ALGORITHMS), st.dictionaries(st.integers(0, 1 << 30), st.floats(1e-3, 1e9), min_size=1)
)
MEASURED = st.dictionaries(st.sampled_from(list(NUMBERS)), TIMES)
CHOSEN_BY_HAND = st.sampled_from(["", "Ring", "Tree", "^Tree", "NVLS", "Ring,Tree", "allreduce:tree;broadcast:ring"])


NONE_OR_ONE = st.sampled_from([None, *ALGORITHMS])


@st.composite
def any_setting(draw, only=NONE_OR_ONE):
    nodes = draw(st.integers(1, 16))
    ranks = nodes * draw(st.integers(1 if nodes > 1 else 2, 16))
    return TuningScope(
        ranks=ranks,
        nodes=nodes,
        rings=draw(st.integers(1, 8)),
        trees=draw(st.integers(0, 8)),
        hosts=draw(st.sampled_from([(ranks // nodes,) * nodes, (1,) * ranks, (ranks - 1, 1)])),
        only=draw(only),
        cores=draw(st.integers(1, 64)),
        net_gb_per_s=draw(st.floats(0.1, 100)),
    )


def can_run(collective, algorithm, setting):
    there = algorithms(collective, setting.hosts)
    return algorithm in there and (algorithm is not Algorithm.TREE or setting.trees > 0)


@settings(deadline=None)
@given(any_setting(), CHOSEN_BY_HAND, MEASURED)
def test_every_collective_has_something_that_runs_it_at_any_size(setting, by_hand, measured):
    for collective, found in choose(setting, {"NCCL_ALGO": by_hand}, measured).items():
        assert all(can_run(collective, choice.algorithm, setting) for choice in found)
        reaches = [choice.up_to_bytes for choice in found]
        assert reaches == sorted(set(reaches))
        assert reaches[-1] == ANY_SIZE


@settings(deadline=None)
@given(any_setting(), st.integers(1, 64), MEASURED)
def test_channels_stay_within_what_there_is_and_what_is_allowed(setting, most, measured):
    there = {Algorithm.RING: setting.rings, Algorithm.TREE: setting.trees}
    for found in choose(setting, {"NCCL_MAX_NCHANNELS": str(most)}, measured).values():
        for choice in found:
            assert 1 <= choice.channels <= min(most, there.get(choice.algorithm, 1))


@settings(deadline=None)
@given(any_setting(only=st.just(Algorithm.RING)), st.integers(0, 64), st.integers(0, 1 << 24))
def test_a_size_uses_another_channel_for_each_64_kib_and_never_less_than_asked(setting, least, size):
    found = choose(setting, {"NCCL_MIN_NCHANNELS": str(least)})[ALL_REDUCE]
    choice = next(choice for choice in found if size <= choice.up_to_bytes)
    assert choice.channels == max(min(least, setting.rings), min(setting.rings, max(1, size >> 16)))


def test_few_bytes_over_boards_go_by_ll_unless_nccl_proto_leaves_it_out():
    def begins(**setting):
        return [(c.up_to_bytes, c.algorithm, c.protocol) for c in choose(four_ranks(), setting)[ALL_REDUCE]][:2]

    assert begins()[0] == (40, Algorithm.ONE_SHOT, Protocol.LL)
    assert begins()[1][1:] == (Algorithm.ONE_SHOT, Protocol.SIMPLE)
    for without in ("Simple", "^LL", "LL128", "allreduce:simple"):
        assert begins(NCCL_PROTO=without)[0][1:] == (Algorithm.ONE_SHOT, Protocol.SIMPLE)
    assert {c.protocol for c in choose(four_ranks(), {"NCCL_ALGO": "Ring"})[ALL_REDUCE]} == {Protocol.SIMPLE}


def test_nccl_proto_prefers_ll_where_it_is():
    times = {Algorithm.ONE_SHOT: {8: 2.0, 1024: 9.0}, Algorithm.RING: {8: 1.0, 1024: 3.0}}
    found = choose(four_ranks(rings=1), {"NCCL_PROTO": "LL"}, {ALL_REDUCE: times})[ALL_REDUCE]
    assert [(c.up_to_bytes, c.algorithm, c.protocol) for c in found] == [
        (40, Algorithm.ONE_SHOT, Protocol.LL),
        (ANY_SIZE, Algorithm.RING, Protocol.SIMPLE),
    ]


@settings(deadline=None)
@given(any_setting(only=st.none()), MEASURED)
def test_nccl_algo_counts_over_what_was_measured(setting, measured):
    for collective, found in choose(setting, {"NCCL_ALGO": "Ring"}, measured).items():
        if collective in (ALL_REDUCE, BROADCAST, ALL_GATHER):
            assert {choice.algorithm for choice in found} == {Algorithm.RING}


@settings(deadline=None)
@given(any_setting(only=st.sampled_from(ALGORITHMS)), MEASURED, CHOSEN_BY_HAND)
def test_the_only_algorithm_runs_all_that_it_can(setting, measured, by_hand):
    for collective, found in choose(setting, {"NCCL_ALGO": by_hand}, measured).items():
        assert len({choice.algorithm for choice in found}) == 1
        if can_run(collective, setting.only, setting):
            assert found[0].algorithm is setting.only


def four_ranks(**others):
    known = {"ranks": 4, "nodes": 1, "rings": 2, "trees": 4, "hosts": (4,), "only": None, "cores": 4}
    return TuningScope(**known | {"net_gb_per_s": 10.0} | others)


def test_measured_times_count_instead_of_the_model():
    times = {Algorithm.TREE: {8: 1.0, 1024: 9.0}, Algorithm.RING: {8: 2.0, 1024: 3.0}, Algorithm.PAIRS: {8: 0.1}}
    found = choose(four_ranks(), {}, {ALL_REDUCE: times})
    assert [(c.up_to_bytes, c.algorithm, c.channels) for c in found[ALL_REDUCE]] == [
        (8, Algorithm.TREE, 1),
        ((128 << 10) - 1, Algorithm.RING, 1),
        (ANY_SIZE, Algorithm.RING, 2),
    ]
    assert found[ALL_GATHER] == choose(four_ranks(), {})[ALL_GATHER]
    assert uses(found, Algorithm.TREE)
    assert not uses(choose(four_ranks(trees=0), {}, {ALL_REDUCE: times}), Algorithm.TREE)


def test_times_of_what_is_not_there_say_nothing():
    times = {Algorithm.ONE_SHOT: {8: 0.1}}
    apart = four_ranks(nodes=2, hosts=(2, 2))
    assert choose(apart, {}, {ALL_REDUCE: times}) == choose(apart, {})


@pytest.mark.parametrize(
    ("only", "collective", "usable"),
    [
        (Algorithm.TREE, BROADCAST, [Algorithm.RING]),
        (Algorithm.TWO_SHOT, ALL_GATHER, [Algorithm.ONE_SHOT]),
        (Algorithm.RING, Collective.ALL_TO_ALL, [Algorithm.PAIRS]),
        (Algorithm.PAIRS, ALL_REDUCE, [Algorithm.RING]),
    ],
)
def test_what_cannot_run_a_collective_leaves_it_to_its_like(only, collective, usable):
    assert usable_for(collective, four_ranks(only=only)) == usable


def test_a_setting_knows_the_cores_of_the_poorest_node():
    one, other = this_peer(0), this_peer(1)
    object.__setattr__(one, "cpus", [0, 1, 2])
    object.__setattr__(other, "cpus", [2, 3])
    assert TuningScope.of([one, other], rings=1, trees=0).cores == 4
    object.__setattr__(other, "host_id", "another")
    found = TuningScope.of([one, other], rings=1, trees=0)
    assert (found.cores, found.nodes, found.hosts) == (2, 2, (1, 1))


def test_what_nccl_refuses_is_a_usage_error():
    with pytest.raises(UsageError, match="'rings'"):
        choose(four_ranks(), {"NCCL_ALGO": "rings"})
