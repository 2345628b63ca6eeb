# SPDX-License-Identifier: Apache-2.0
"""The work of the algorithms between hosts: recursive doubling and halving among all ranks, or in a hierarchy among
those of equal position on their hosts (collectives/native/recursive_schedule.h, hierarchical.h).
"""

from railgauge.collectives.cost.host_ranks import HostMoves, HostRanks
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective

DOUBLING_UP_TO = 64 << 10
"""Up to this size an all-reduce in a hierarchy uses doubling across hosts, above it halving; kDoublingBytes in
collectives/native/hierarchical.cc."""


def recursive(where: HostRanks, collective: Collective, algorithm: Algorithm) -> HostMoves:
    """Ranks are connected host by host, so that the lowest bits of their positions are within one.

    All of the data is copied to where it is reduced, and in an all-reduce by doubling to where it leaves from.
    """
    bits, beyond = _bits(where.ranks)
    near = min(bits, where.per_node.bit_length() - 1) if where.nodes > 1 else bits
    far = bits - near
    folds = beyond * (where.nodes > 1)
    if collective in (Collective.BROADCAST, Collective.REDUCE):
        steps = bits + beyond
        return HostMoves(steps=steps, crossings=far + folds, passed=2.0 * steps, leaving=float(far + folds), senders=1)
    if collective in (Collective.ALL_GATHER, Collective.REDUCE_SCATTER):
        there = 1 - where.per_node / where.ranks
        return HostMoves(
            steps=bits + 2 * beyond,
            crossings=far + 2 * folds,
            passed=2 * (1 - 1 / where.ranks) + 2 * beyond,
            apart=1.0 if collective is Collective.REDUCE_SCATTER else 0.0,
            leaving=where.per_node * there + folds,
            senders=where.per_node,
        )
    if algorithm is Algorithm.RECURSIVE_DOUBLING:
        return HostMoves(
            steps=bits + 2 * beyond,
            crossings=far + 2 * folds,
            passed=2.0 * (bits + beyond),
            apart=1.0 + bits,
            leaving=float(where.per_node * far + folds),
            senders=where.per_node,
            in_turn=True,
        )
    return HostMoves(
        steps=2 * (bits + beyond),
        crossings=2 * (far + folds),
        passed=4 * (1 - 0.5**bits) + 2 * beyond,
        apart=1.0,
        leaving=2 * where.per_node * (1 - 0.5**far) + folds,
        senders=where.per_node,
    )


def hierarchical(where: HostRanks, collective: Collective, size: int) -> HostMoves:
    """A step in shared segments before those across hosts and one after them; each position moves its share across."""
    bits, beyond = _bits(where.nodes)
    peers, share = where.per_node - 1, 1 / where.per_node
    crossings, leaving = bits + 2 * beyond, 1 - 1 / where.nodes
    if collective in (Collective.BROADCAST, Collective.REDUCE):
        crossings = bits + beyond
        leaving = float(crossings)
    elif collective is Collective.ALL_REDUCE and size <= DOUBLING_UP_TO:
        leaving = float(bits + beyond)
    elif collective is Collective.ALL_REDUCE:
        crossings = 2 * (bits + beyond)
        leaving = 2 * (1 - 0.5**bits) + beyond
    stages = 1 if collective in (Collective.ALL_GATHER, Collective.REDUCE_SCATTER) else 2
    return HostMoves(
        steps=stages + crossings,
        crossings=crossings,
        messages=stages * peers,
        passed=2 * share * leaving,
        apart=stages * (1.0 + peers * share),
        leaving=leaving,
        senders=where.per_node,
        rounds=1.0 + (stages - 1) * share,
    )


def _bits(size: int) -> tuple[int, int]:
    """The steps among the largest power of two of `size`, and whether there are some beyond."""
    bits = size.bit_length() - 1
    return bits, int(size > 1 << bits)
