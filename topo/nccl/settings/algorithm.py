# SPDX-License-Identifier: Apache-2.0
"""Collectives, algorithms and protocols, with the names of `railgauge run`."""

from enum import StrEnum


class Collective(StrEnum):
    """The collectives; bytes and bus bandwidth count as in nccl-tests."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    ALL_TO_ALL = "alltoall"
    GATHER = "gather"
    SCATTER = "scatter"
    SEND_RECV = "sendrecv"

    def factor(self, ranks: int) -> float:
        """Bus bandwidth over algorithm bandwidth (nccl-tests: doc/PERFORMANCE.md, GetBw of each collective)."""
        if self is Collective.ALL_REDUCE:
            return 2 * (ranks - 1) / ranks
        whole = (Collective.BROADCAST, Collective.REDUCE, Collective.SEND_RECV)
        return 1.0 if self in whole else (ranks - 1) / ranks

    @property
    def in_pairs(self) -> bool:
        """Whether it consists of sends and receives between pairs, without ring or tree."""
        return self in (Collective.ALL_TO_ALL, Collective.GATHER, Collective.SCATTER, Collective.SEND_RECV)


class Algorithm(StrEnum):
    """How ranks exchange data.

    `direct` sends a message to each peer; in shared memory it takes one step or two. `pairs` uses a connection with
    each peer. `recursive_doubling` and `recursive_halving` double the peers, or halve the data, in every step;
    `hierarchical` is within each host, then across hosts, then within each host; `zero-copy` works on the callers'
    arrays themselves, if ranks reach each other's memory; `copy-engine` likewise, with the GPUs' copy engines instead
    of kernels; `nvls` has NVSwitches multicast and reduce. NCCL's alone: `nvlstree` (nvls, nodes joined by trees),
    `pat` (parallel trees, one rank a node), `collnetdirect` and `collnetchain` (the network reduces: SHARP).
    """

    RING = "ring"
    TREE = "tree"
    NVLS = "nvls"
    NVLS_TREE = "nvlstree"
    PAT = "pat"
    COLLNET_DIRECT = "collnetdirect"
    COLLNET_CHAIN = "collnetchain"
    DIRECT = "direct"
    ONE_SHOT = "one-shot"
    TWO_SHOT = "two-shot"
    PAIRS = "pairs"
    RECURSIVE_DOUBLING = "recursive_doubling"
    RECURSIVE_HALVING = "recursive_halving"
    HIERARCHICAL = "hierarchical"
    ZERO_COPY = "zero-copy"
    COPY_ENGINE = "copy-engine"


class Protocol(StrEnum):
    """How a step signals data to the next: by flags within the data (LL, LL128), or after it (simple)."""

    LL = "ll"
    LL128 = "ll128"
    SIMPLE = "simple"
