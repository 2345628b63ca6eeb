# SPDX-License-Identifier: Apache-2.0
"""The time of a collective between ranks on host memory, by railgauge's own engine: steps x latency, and bytes moved /
bandwidth. `graph predict` shows it, the engine chooses by it (collectives/tuning.py), and each row of `run` has it.
"""

from collections.abc import Sequence
from dataclasses import replace

from railgauge.collectives.cost import calibration
from railgauge.collectives.cost.host_across import hierarchical, recursive
from railgauge.collectives.cost.host_ranks import HostMoves, HostRanks
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.topo.predict.cost import Cost

ON_SEGMENTS = (Algorithm.ONE_SHOT, Algorithm.TWO_SHOT)
"""The algorithms of ranks that all share memory."""
IN_TWO_SHOTS = (Collective.ALL_REDUCE, Collective.REDUCE)
IN_TREES = (Collective.ALL_REDUCE,)
BY_DOUBLING = (Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.BROADCAST)
BY_HALVING = (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.REDUCE)
OF_EQUAL_HOSTS = (Collective.ALL_GATHER, Collective.REDUCE_SCATTER)
"""Collectives that use a hierarchy only if every host has the same number of ranks."""
MOST_PARTS = 1024
"""Ranks whose parts fit a slot of a shared segment, each on a line of its own."""
MOST_ON_SEGMENTS = 512
"""The most ranks of a host that shared segments support (transports/native/shm/shared_segment.h)."""
MESSAGE_CACHE_BYTES = 2 * calibration.HOST_CACHE_BYTES
"""Up to this size a message stays in a cache: it has two buffers, while the collectives used for setting
HOST_CACHE_BYTES have four."""


def algorithms(collective: Collective, hosts: Sequence[int]) -> tuple[Algorithm, ...]:
    """All that the engine has for it; `hosts` are the numbers of ranks that share memory."""
    boards = [Algorithm.ONE_SHOT, *[Algorithm.TWO_SHOT] * (collective in IN_TWO_SHOTS)] * has_segments(hosts)
    if collective.in_pairs:
        return (*boards, Algorithm.PAIRS)
    wires = [Algorithm.RING, *[Algorithm.TREE] * (collective in IN_TREES)]
    if len(hosts) == 1:
        return (*boards, *wires)
    recursive = [Algorithm.RECURSIVE_DOUBLING] * (collective in BY_DOUBLING)
    recursive += [Algorithm.RECURSIVE_HALVING] * (collective in BY_HALVING)
    return (*wires, *recursive, *[Algorithm.HIERARCHICAL] * _has_hierarchy(collective, hosts))


def ll_up_to(collective: Collective, ranks: int) -> int:
    """Up to how many bytes (nccl-tests' count) one-shot uses LL: the data of a message lies in the cache line with its
    flag; 0: never.
    """
    match collective:
        case Collective.ALL_GATHER | Collective.GATHER:
            return calibration.HOST_SHORT_BYTES * ranks
        case Collective.REDUCE_SCATTER | Collective.ALL_TO_ALL | Collective.SCATTER:
            return calibration.HOST_SHORT_BYTES // max(1, ranks - 1) * ranks
        case _:
            return calibration.HOST_SHORT_BYTES


def has_segments(hosts: Sequence[int]) -> bool:
    """Whether all ranks can exchange through shared segments."""
    return len(hosts) == 1 and hosts[0] <= MOST_ON_SEGMENTS


def _has_hierarchy(collective: Collective, hosts: Sequence[int]) -> bool:
    if not 1 < max(hosts) <= MOST_ON_SEGMENTS:
        return False
    return collective not in OF_EQUAL_HOSTS or (len(set(hosts)) == 1 and sum(hosts) <= MOST_PARTS)


def host_cost(where: HostRanks, collective: Collective, algorithm: Algorithm, size: int) -> Cost:
    """The time of `size` bytes (nccl-tests' count); `algorithm` is one that the collective has."""
    moves = moves_of(where, collective, algorithm, size)
    start = 0.0 if algorithm in ON_SEGMENTS else calibration.HOST_WIRE_US
    within = (moves.steps - moves.crossings) * _or_switch(where, calibration.HOST_STEP_US)
    steps = within + moves.crossings * where.medium.step_us
    latency = start + steps + moves.messages * calibration.HOST_MESSAGE_US
    apart = where.turns * size * moves.apart / calibration.HOST_GB_PER_S / 1e3
    together = max(copying_us(where, moves, size), between_us(where, moves, size))
    return Cost(latency_us=latency, transfer_us=together + apart)


def message_cost(where: HostRanks, size: int) -> Cost:
    """The time of `size` bytes from one rank to one other by `where.medium`, while the other direction is idle.

    `where` has the ranks of one host that are busy; its `net_gb_per_s` is the message's share of the network, infinite
    without one.
    """
    step_us = where.medium.step_us
    if where.turns > 1:
        step_us = max(step_us, calibration.HOST_SWITCH_US * where.turns)
    copied = size / calibration.HOST_GB_PER_S + max(0, size - MESSAGE_CACHE_BYTES) / calibration.HOST_MEMORY_GB_PER_S
    passed = size / min(where.net_gb_per_s, where.medium.gb_per_s)
    return Cost(latency_us=calibration.HOST_WIRE_US + step_us, transfer_us=max(where.turns * copied, passed) / 1e3)


def copying_us(where: HostRanks, moves: HostMoves, size: int) -> float:
    """The time of the cores' copies and reductions, including memory traffic, and the waits."""
    beyond = max(0, size - calibration.HOST_CACHE_BYTES)
    ns = size * moves.passed / calibration.HOST_GB_PER_S + beyond / calibration.HOST_MEMORY_GB_PER_S
    rounds = max(0.0, moves.rounds * size / calibration.HOST_PLACE_BYTES - calibration.HOST_ROUNDS_HIDDEN)
    return where.turns * ns / 1e3 + rounds * _or_switch(where, calibration.HOST_ROUND_US)


def between_us(where: HostRanks, moves: HostMoves, size: int) -> float:
    """The time of the network, or of the ranks that send to it and receive from it."""
    senders = moves.senders or min(where.interfaces, where.per_node)
    passes = where.net_gb_per_s * (min(1.0, moves.senders / where.interfaces) if moves.senders else 1.0)
    longer = 1 + where.medium.in_turn * moves.in_turn
    return longer * size * moves.leaving / min(passes, senders * where.medium.gb_per_s) / 1e3


def _or_switch(where: HostRanks, alone_us: float) -> float:
    """The time until another rank continues: `alone_us` on a core of its own, else one switch for each rank that shares
    it.
    """
    return alone_us if where.turns == 1 else calibration.HOST_SWITCH_US * where.turns


def moves_of(where: HostRanks, collective: Collective, algorithm: Algorithm, size: int) -> HostMoves:
    """The work of an operation of `size` bytes with an algorithm that the collective has."""
    match algorithm:
        case Algorithm.HIERARCHICAL:
            return hierarchical(where, collective, size)
        case Algorithm.RECURSIVE_DOUBLING | Algorithm.RECURSIVE_HALVING:
            return recursive(where, collective, algorithm)
        case Algorithm.RING:
            return _ring(where, collective)
        case Algorithm.TREE:
            return _tree(where)
        case Algorithm.TWO_SHOT:
            return _two_shot(where)
        case Algorithm.ONE_SHOT:
            moves, by_part = _to_each(where, collective), collective in (Collective.ALL_GATHER, Collective.GATHER)
            return replace(moves, rounds=1 / where.ranks if by_part else 1.0)
        case Algorithm.ZERO_COPY:
            return _zero_copy(where, collective)
        case _:
            return _to_each(where, collective)


def _ring(where: HostRanks, collective: Collective) -> HostMoves:
    """Each part goes round once, of an all-reduce twice; from or to a root all of it does."""
    peers, part = where.ranks - 1, 1 / where.ranks
    rounds = 2 if collective is Collective.ALL_REDUCE else 1
    rooted = collective in (Collective.BROADCAST, Collective.REDUCE)
    once = 1.0 if rooted else rounds * peers * part
    middle = 2 if where.ranks > 2 or not rooted else 1  # with two ranks one only sends, one only receives
    return HostMoves(
        steps=rounds * peers,
        crossings=rounds * (where.nodes - 1),
        passed=middle * once,
        leaving=once if where.nodes > 1 else 0.0,
    )


def _tree(where: HostRanks) -> HostMoves:
    """Up and down: a chain within each node, a binary tree over the nodes (`ncclGetBtree`, src/graph/trees.cc)."""
    levels = (where.nodes - 1).bit_length()
    return HostMoves(
        steps=2 * (where.per_node - 1 + levels),
        crossings=2 * levels,
        passed=4.0 if where.ranks > 2 else 2.0,
        leaving=0.0 if where.nodes == 1 else 1.0 if where.nodes == 2 else 2.0,
    )


def _two_shot(where: HostRanks) -> HostMoves:
    """Every rank posts all data, reduces its part of all, posts that, and reads the others' parts."""
    peers, part = where.ranks - 1, 1 / where.ranks
    return HostMoves(steps=2, messages=2 * peers, passed=1 + peers * part + part + peers * part, rounds=2.0)


def _zero_copy(where: HostRanks, collective: Collective) -> HostMoves:
    """What each rank reads from the others' arrays, or writes there, between two rounds of a word from each."""
    peers, part = where.ranks - 1, 1 / where.ranks
    passed = {
        Collective.ALL_REDUCE: 2 * peers * part,
        Collective.REDUCE: 1.0,
        Collective.BROADCAST: 1.0,
        Collective.GATHER: part,
        Collective.SCATTER: part,
        Collective.SEND_RECV: 1.0,
    }.get(collective, peers * part)
    return HostMoves(steps=2, messages=2 * peers, passed=passed)


def _to_each(where: HostRanks, collective: Collective) -> HostMoves:
    """In one step, over shared segments or pairs, from each to each or with the root."""
    peers, part = where.ranks - 1, 1 / where.ranks
    far = where.ranks - where.per_node
    messages, passed, leaving = {
        Collective.ALL_REDUCE: (peers, 1.0 + peers, 0.0),
        Collective.REDUCE: (peers, float(peers), 0.0),
        Collective.BROADCAST: (1, 1.0, 0.0),
        Collective.ALL_GATHER: (peers, 1.0, 0.0),
        Collective.REDUCE_SCATTER: (peers, 2 * peers * part, 0.0),
        Collective.ALL_TO_ALL: (peers, 2 * peers * part, where.per_node * far * part),
        Collective.GATHER: (peers, peers * part, far * part),
        Collective.SCATTER: (1, peers * part, far * part),
        Collective.SEND_RECV: (1, 2.0, 1.0),
    }[collective]
    crosses = where.nodes > 1
    return HostMoves(steps=1, crossings=int(crosses), messages=messages, passed=passed, leaving=leaving * crosses)
