# SPDX-License-Identifier: Apache-2.0
"""The time of a collective between GPUs that write into each other's memory, by railgauge's own engine: a start, steps
that follow one another, and the bytes that the busiest GPU puts out or takes in over what its links pass.

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
"""Of more ranks, those of so many distances before and behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRanks:
    """GPUs of one node; `gb_per_s` is what each puts out to its peers, and takes in at the same time, by its paths."""

    ranks: int
    gb_per_s: float

    @property
    def peers(self) -> int:
        """The others of each."""
        return self.ranks - 1


@dataclass(frozen=True, slots=True)
class Moves:
    """Steps and kernels that follow one another, and bytes that the busiest GPU puts out or takes in, over nccl-tests'
    size.
    """

    steps: int
    passed: float
    kernels: int = 1


def gpu_cost(where: GpuRanks, collective: Collective, algorithm: Algorithm, protocol: Protocol, size: int) -> Cost:
    """The time of `size` bytes (nccl-tests' count) by a way of the engine, in a CUDA graph or behind other launches."""
    moves = moves_of(where, collective, algorithm)
    bandwidth = where.gb_per_s * calibration.GPU_SHARE[protocol]
    return Cost(
        latency_us=moves.kernels * calibration.GPU_START_US + moves.steps * calibration.GPU_STEP_US[protocol],
        transfer_us=size * moves.passed / bandwidth / 1e3,
    )


def predicted_busbw(
    where: GpuRanks, collective: Collective, algorithm: Algorithm, protocol: Protocol, size: int
) -> float:
    """What the model says of it in GB/s; 0 of one GPU alone, which moves nothing between GPUs."""
    if where.ranks == 1:
        return 0.0
    time_us = gpu_cost(where, collective, algorithm, protocol, size).time_us
    return size / time_us / 1e3 * collective.factor(where.ranks)


def moves_of(where: GpuRanks, collective: Collective, algorithm: Algorithm) -> Moves:
    """What an operation comes to (`in_one_step` and `in_two_steps` of collectives/native/gpu/exchange.cc)."""
    match algorithm:
        case Algorithm.RING:
            return _ring(where, collective)
        case Algorithm.TREE:  # a chain within a node: up and down at once, but for its ends
            return Moves(2 * where.peers, 2.0 if where.ranks > 2 else 1.0)
        case Algorithm.TWO_SHOT | Algorithm.ZERO_COPY | Algorithm.COPY_ENGINE:
            return _in_two_steps(where, collective)
        case _:
            return _in_one_step(where, collective)


def _ring(where: GpuRanks, collective: Collective) -> Moves:
    steps = ring_steps(collective, where.ranks)
    return Moves(where.peers, 1.0) if collective in FROM_ONE else Moves(steps, steps / where.ranks)


def _in_two_steps(where: GpuRanks, collective: Collective) -> Moves:
    """Parts go to their owners, which share what they have; between two ranks an owner has nobody to share with."""
    part = where.peers / where.ranks
    if collective is Collective.ALL_REDUCE:
        return Moves(2, 2 * part)
    if collective is Collective.REDUCE and where.ranks > 2:
        return Moves(2, 2 * part)
    if collective is Collective.BROADCAST:
        return Moves(2 if where.ranks > 2 else 1, 1.0)
    return _in_one_step(where, collective)


def _in_one_step(where: GpuRanks, collective: Collective) -> Moves:
    """All that a rank has for another goes at once: of sendrecv to one, of a whole to each, of parts a part to each."""
    if collective is Collective.SEND_RECV:
        return Moves(1, 1.0)
    whole = collective in (Collective.ALL_REDUCE, Collective.REDUCE, Collective.BROADCAST)
    passed = where.peers * (1.0 if whole else 1 / where.ranks)
    rounds = _rounds(where.ranks) if collective.in_pairs else 1
    return Moves(rounds, passed, rounds)


def _rounds(ranks: int) -> int:
    """Kernels that pairs of so many ranks take (`rounds` of collectives/native/gpu/rounds.cc)."""
    return 1 if ranks <= MOST_AT_ONCE else -(-(ranks // 2) // DISTANCES_OF_A_ROUND)
