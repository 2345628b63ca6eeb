# SPDX-License-Identifier: Apache-2.0
"""What a sweep of stock NCCL tries, and when it calls a gain one: on times that are made up."""

import random

import pytest

from railgauge.collectives.nccl_sweep import (
    ENOUGH,
    MOST,
    OWN,
    GainVerdict,
    NcclSweep,
    NcclTime,
    NcclWay,
    sweep,
    verdict,
    ways,
)
from railgauge.collectives.report.nccl_sweep import sweep_document
from railgauge.topo.errors import RunError, VerificationError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol

SMALL, LARGE = 1 << 10, 1 << 30
TREE_LL = NcclWay(Algorithm.TREE, Protocol.LL)


class Machine:
    """Times by setting and size with noise; NVLS is not there, and rings with Simple are NCCL's own choice."""

    def __init__(self, share, noise=0.02, seed=1):
        self.share, self.noise, self.random, self.ran = share, noise, random.Random(seed), []

    def measure(self, way, probing):
        self.ran.append((way, probing))
        if way.algorithm in (Algorithm.NVLS, Algorithm.NVLS_TREE):
            raise RunError("NCCL has no such algorithm here")
        chosen = (way.algorithm or Algorithm.RING, way.protocol or Protocol.SIMPLE, way.channels or 8)
        return {
            size: NcclTime(self.share(way, size) * self.random.uniform(1, 1 + self.noise), 1.0, *chosen)
            for size in (SMALL, LARGE)
        }

    def turns(self, way):
        return self.ran.count((way, False))


def small_trees(way, size):
    return 60.0 if size == SMALL and way[:2] == TREE_LL[:2] and way.channels is None else 100.0


@pytest.mark.parametrize(
    ("own", "times", "is_"),
    [
        ([10], [5], GainVerdict.OPEN),
        ([10, 10], [10, 11], GainVerdict.NONE),
        ([10, 10], [9, 11], GainVerdict.OPEN),
        ([10] * (ENOUGH - 1), [5] * (ENOUGH - 1), GainVerdict.OPEN),
        ([10] * ENOUGH, [5] * ENOUGH, GainVerdict.GAIN),
        ([10] * ENOUGH, [9.6] * ENOUGH, GainVerdict.NONE),
        ([10] * ENOUGH, [9.4] * ENOUGH, GainVerdict.GAIN),
        ([10] * ENOUGH, [5] * (ENOUGH - 1) + [10], GainVerdict.OPEN),
        ([10] * MOST, [10.5, *[9] * (MOST - 1)], GainVerdict.OPEN),
    ],
)
def test_a_gain_is_outside_of_the_noise(own, times, is_):
    assert verdict(own, times) is is_


def test_what_is_tried_is_each_algorithm_with_its_protocols_and_numbers_of_channels():
    found = ways(Collective.ALL_REDUCE, 8)
    assert len(found) == len(set(found)) == (1 + 2 * 3 + 2) * 3 - 1
    assert OWN not in found
    assert {way.channels for way in found} == {None, 4, 16}
    assert {way.protocol for way in found if way.algorithm is Algorithm.NVLS} == {Protocol.SIMPLE}
    assert {way.channels for way in ways(Collective.BROADCAST, 64)} == {None, 32}
    assert {way.channels for way in ways(Collective.REDUCE, 1)} == {None, 2}
    assert {way.channels for way in ways(Collective.ALL_GATHER, 0)} == {None}
    assert NcclWay(Algorithm.TREE, Protocol.LL128, 4).environment == {
        "NCCL_ALGO": "tree", "NCCL_PROTO": "ll128", "NCCL_MIN_NCHANNELS": "4", "NCCL_MAX_NCHANNELS": "4",
    }  # fmt: skip


def test_the_setting_that_is_faster_is_found_at_its_size_alone():
    machine = Machine(small_trees)
    found = sweep(Collective.ALL_REDUCE, machine.measure)
    assert (found.gains(SMALL), found.gains(LARGE)) == ([TREE_LL], [])
    assert found.gain(TREE_LL, SMALL) == pytest.approx(0.4, abs=0.02)
    assert machine.turns(TREE_LL) == ENOUGH


def test_what_fails_here_or_runs_as_nccls_choice_does_is_not_measured():
    machine = Machine(small_trees)
    found = sweep(Collective.ALL_REDUCE, machine.measure)
    assert {way.algorithm for way in found.left_out} == {Algorithm.NVLS, Algorithm.NVLS_TREE}
    assert set(found.left_out.values()) == {"NCCL has no such algorithm here"}
    same = NcclWay(Algorithm.RING, Protocol.SIMPLE)
    assert (machine.turns(same), same in found.verdicts[SMALL]) == (0, False)
    assert machine.ran.count((same, True)) == 1


@pytest.mark.parametrize("seed", range(8))
def test_noise_is_no_gain_and_ends(seed):
    machine = Machine(lambda _way, _size: 100.0, noise=0.3, seed=seed)
    found = sweep(Collective.ALL_REDUCE, machine.measure)
    assert [found.gains(size) for size in (SMALL, LARGE)] == [[], []]
    assert found.turns <= MOST


def test_turns_begin_and_end_with_nccls_choice_in_turn():
    machine = Machine(small_trees)
    sweep(Collective.ALL_REDUCE, machine.measure, most=2)
    measured = [way for way, probing in machine.ran if not probing]
    half = len(measured) // 2
    assert measured[0] is OWN is measured[-1]
    assert measured[1:half] == measured[half:-1][::-1]


def test_a_setting_that_fails_later_is_left_out_and_nccls_choice_ends_the_sweep():
    def fails(which, after):
        machine = Machine(small_trees)

        def measure(way, probing):
            if way == which and machine.turns(way) == after and not probing:
                raise RunError("lost")
            return machine.measure(way, probing)

        return measure

    found = sweep(Collective.ALL_REDUCE, fails(TREE_LL, 1))
    assert (found.left_out[TREE_LL], found.gains(SMALL)) == ("lost", [])
    with pytest.raises(RunError, match="lost"):
        sweep(Collective.ALL_REDUCE, fails(OWN, 1))


def test_wrong_data_ends_the_sweep():
    def measure(way, probing):
        if way == TREE_LL:
            raise VerificationError("2 wrong elements")
        return Machine(small_trees).measure(way, probing)

    with pytest.raises(VerificationError, match="2 wrong"):
        sweep(Collective.ALL_REDUCE, measure)


def test_a_log_that_does_not_say_leaves_all_open():
    times = {SMALL: NcclTime(10.0, 1.0)}
    found = sweep(Collective.BROADCAST, lambda _way, _probing: times, most=1)
    assert len(found.verdicts[SMALL]) == len(ways(Collective.BROADCAST, 0))


def test_what_is_faster_is_what_nccl_ran_the_fastest_first():
    channels, unlogged = NcclWay(channels=16), NcclWay(Algorithm.TREE, Protocol.LL, 4)
    found = NcclSweep(
        samples={
            OWN: {SMALL: NcclTime(9.0, 1.0, "ring", "simple", 8)},
            channels: {SMALL: NcclTime(9.0, 1.0, "ring", "ll", 12)},  # few bytes take fewer than there are
            TREE_LL: {SMALL: NcclTime(9.0, 1.0, "tree", "ll", 6)},
            unlogged: {SMALL: NcclTime(9.0, 1.0)},
        },
        times={OWN: {SMALL: [10.0]}, channels: {SMALL: [6.0]}, TREE_LL: {SMALL: [5.0]}, unlogged: {SMALL: [7.0]}},
        verdicts={SMALL: dict.fromkeys((channels, TREE_LL, unlogged), GainVerdict.GAIN)},
    )
    assert [tuple(one.values()) for one in sweep_document(found)["rows"][0]["faster"]] == [
        ("tree", "ll", 6, False),
        ("ring", "ll", 12, True),
        ("tree", "ll", 4, True),
    ]
