# SPDX-License-Identifier: Apache-2.0
"""The time of a collective between GPUs that write into each other's memory, by railgauge's own engine: a start,
consecutive steps, and the bytes that the busiest GPU sends or receives over the bandwidth of its links.

NCCL's times are in cost.py. The kernels are those of collectives/native/kernels: exchanges with every peer by lines
with flags within (LL, LL128) or by slots with flags beside them (simple), and rings and trees over channels.
"""

from dataclasses import dataclass

from railgauge.collectives.cost import calibration
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.nccl_model import FROM_ONE, ring_steps

MOST_AT_ONCE = 8
"""Ranks that one kernel exchanges between."""
DISTANCES_OF_A_ROUND = 3
"""Among more ranks, those at up to this distance before and after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRanks:
    """GPUs of one node; `gb_per_s` is what each sends to its peers, and receives at the same time, by its paths."""

    ranks: int
    gb_per_s: float

    @property
    def peers(self) -> int:
        """The others of each."""
        return self.ranks - 1


@dataclass(frozen=True, slots=True)
class GpuMoves:
    """Consecutive steps and kernels, and bytes that the busiest GPU sends or receives, over nccl-tests' size."""

    steps: int
    passed: float
    kernels: int = 1


def gpu_cost(where: GpuRanks, collective: Collective, algorithm: Algorithm, protocol: Protocol, size: int) -> Cost:
    """The time of `size` bytes (nccl-tests' count) with one of the engine's launches, in a CUDA graph or after other
    launches.
    """
    moves = moves_of(where, collective, algorithm)
    bandwidth = where.gb_per_s * calibration.GPU_SHARE[protocol]
    return Cost(
        latency_us=moves.kernels * calibration.GPU_START_US + moves.steps * calibration.GPU_STEP_US[protocol],
        transfer_us=size * moves.passed / bandwidth / 1e3,
    )


def predicted_busbw(
    where: GpuRanks, collective: Collective, algorithm: Algorithm, protocol: Protocol, size: int
) -> float:
    """The model's prediction in GB/s; 0 for a single GPU, which moves nothing between GPUs."""
    if where.ranks == 1:
        return 0.0
    time_us = gpu_cost(where, collective, algorithm, protocol, size).time_us
    return size / time_us / 1e3 * collective.factor(where.ranks)


def moves_of(where: GpuRanks, collective: Collective, algorithm: Algorithm) -> GpuMoves:
    """The work of an operation (`in_one_step` and `in_two_steps` of collectives/native/gpu/exchange.cc)."""
    match algorithm:
        case Algorithm.RING:
            return _ring(where, collective)
        case Algorithm.TREE:  # a chain within a node: up and down at once, except at its ends
            return GpuMoves(2 * where.peers, 2.0 if where.ranks > 2 else 1.0)
        case Algorithm.NVLS:  # each part comes as one sum, and goes out once
            return GpuMoves(2, 1 + 1 / where.ranks)
        case Algorithm.TWO_SHOT | Algorithm.ZERO_COPY | Algorithm.COPY_ENGINE:
            return _in_two_steps(where, collective)
        case _:
            return _in_one_step(where, collective)


def _ring(where: GpuRanks, collective: Collective) -> GpuMoves:
    steps = ring_steps(collective, where.ranks)
    return GpuMoves(where.peers, 1.0) if collective in FROM_ONE else GpuMoves(steps, steps / where.ranks)


def _in_two_steps(where: GpuRanks, collective: Collective) -> GpuMoves:
    """Parts go to their owners, which share the results; with two ranks an owner has no rank to share with."""
    part = where.peers / where.ranks
    if collective is Collective.ALL_REDUCE:
        return GpuMoves(2, 2 * part)
    if collective is Collective.REDUCE and where.ranks > 2:
        return GpuMoves(2, 2 * part)
    if collective is Collective.BROADCAST:
        return GpuMoves(2 if where.ranks > 2 else 1, 1.0)
    return _in_one_step(where, collective)


def _in_one_step(where: GpuRanks, collective: Collective) -> GpuMoves:
    """A rank sends all data for another at once: sendrecv to one, a whole input to each, or a part to each."""
    if collective is Collective.SEND_RECV:
        return GpuMoves(1, 1.0)
    whole = collective in (Collective.ALL_REDUCE, Collective.REDUCE, Collective.BROADCAST)
    passed = where.peers * (1.0 if whole else 1 / where.ranks)
    rounds = _rounds(where.ranks) if collective.in_pairs else 1
    return GpuMoves(rounds, passed, rounds)


def _rounds(ranks: int) -> int:
    """Kernels for pairs among that many ranks (`rounds` of collectives/native/gpu/rounds.cc)."""
    return 1 if ranks <= MOST_AT_ONCE else -(-(ranks // 2) // DISTANCES_OF_A_ROUND)
