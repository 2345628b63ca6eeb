# SPDX-License-Identifier: Apache-2.0
"""The time of the own engine's ways between GPUs: what grows with what, and the limits that links set."""

import pytest

from railgauge.collectives.cost.gpu_cost import GpuRanks, gpu_cost, moves_of, predicted_busbw
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol

LL = Algorithm.ONE_SHOT, Protocol.LL
LL128 = Algorithm.TWO_SHOT, Protocol.LL128
PUSH = Algorithm.TWO_SHOT, Protocol.SIMPLE
RING = Algorithm.RING, Protocol.SIMPLE
TREE = Algorithm.TREE, Protocol.SIMPLE
DIRECT = (LL, LL128, PUSH)
IN_CHANNELS = [c for c in Collective if not c.in_pairs]
LINKS = 370.8


def time_us(ranks: int, way: tuple, size: int, collective: Collective = Collective.ALL_REDUCE) -> float:
    return gpu_cost(GpuRanks(ranks=ranks, gb_per_s=LINKS), collective, *way, size).time_us


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_lines_are_quickest_for_short_ones_full_lines_beyond_and_slots_for_long_ones(ranks):
    quickest = [min(DIRECT, key=lambda way: time_us(ranks, way, size)) for size in (8, 2 << 20, 1 << 30)]
    assert quickest == [LL, LL128, PUSH]


@pytest.mark.parametrize("collective", list(Collective))
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_no_way_of_a_collective_has_more_than_the_links(collective, ranks):
    where = GpuRanks(ranks=ranks, gb_per_s=LINKS)
    in_channels = [*[RING] * (collective in IN_CHANNELS), *[TREE] * (collective is Collective.ALL_REDUCE)]
    for way in (*DIRECT, *in_channels):
        busbw = predicted_busbw(where, collective, *way, 8 << 30)
        assert 0 < busbw <= LINKS


@pytest.mark.parametrize("collective", IN_CHANNELS)
def test_an_exchange_moves_no_more_than_a_ring_once_all_are_in_two_steps(collective):
    for ranks in (2, 4, 8):
        where = GpuRanks(ranks=ranks, gb_per_s=LINKS)
        ring, exchange = moves_of(where, collective, Algorithm.RING), moves_of(where, collective, Algorithm.TWO_SHOT)
        most = 2 if collective is Collective.REDUCE else 1  # the root takes in parts of inputs and then results
        assert exchange.passed <= most * ring.passed + 1e-9
        assert exchange.steps <= max(2, ring.steps)


def test_more_gpus_take_longer_by_rings_than_by_exchanges():
    assert time_us(8, RING, 8) > 3 * time_us(8, PUSH, 8)
    assert time_us(8, RING, 1 << 30) == pytest.approx(time_us(8, PUSH, 1 << 30), rel=0.02)
    assert time_us(8, LL, 1 << 20) > 3 * time_us(2, LL, 1 << 20)


def test_one_gpu_alone_has_no_bus_bandwidth():
    assert predicted_busbw(GpuRanks(ranks=1, gb_per_s=LINKS), Collective.ALL_REDUCE, *PUSH, 1 << 20) == 0.0


@pytest.mark.parametrize(("ranks", "kernels"), [(8, 1), (9, 2), (12, 2), (13, 2), (14, 3), (16, 3), (64, 11)])
def test_pairs_of_more_ranks_than_a_kernel_takes_go_in_rounds(ranks, kernels):
    where = GpuRanks(ranks=ranks, gb_per_s=LINKS)
    assert moves_of(where, Collective.ALL_TO_ALL, PUSH[0]).kernels == kernels
    assert moves_of(where, Collective.SEND_RECV, PUSH[0]).kernels == 1
    assert moves_of(where, Collective.ALL_REDUCE, PUSH[0]).kernels == 1
