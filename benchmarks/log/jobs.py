# SPDX-License-Identifier: Apache-2.0
"""Logs of jobs that never ran, of any size: what 1,024 ranks write at NCCL_DEBUG=INFO, in NCCL's own words.

Two kinds: `train` has the lines of collectives and of the program between those of the start; `alltoall` is what a job
writes whose ranks all connect to each other: connections only, the worst case.
"""

import itertools
from collections.abc import Iterator

RANKS = 1024
PER_NODE = 8
CHANNELS = 16


def lines(kind: str) -> Iterator[str]:
    """The lines of a job, without end."""
    for rank in range(RANKS):
        yield from start(rank)
    for turn in itertools.count(1):
        for rank in range(RANKS):
            yield from train(rank, turn) if kind == "train" else alltoall(rank, turn)


def header(rank: int) -> str:
    return f"gpu-node-{rank // PER_NODE:03d}:{100000 + rank}:{200000 + rank} [{rank % PER_NODE}] NCCL INFO"


def start(rank: int) -> Iterator[str]:
    """What a rank says when it starts, over rings of which every eighth edge leaves the node."""
    say, device = header(rank), rank % PER_NODE
    following, before = (rank + 1) % RANKS, (rank - 1) % RANKS
    yield f"{say} Bootstrap: Using eth0:10.0.{rank // PER_NODE}.1<0>"
    yield f"{say} NCCL version 2.27.5+cuda12.9"
    yield f"{say} NCCL_IB_HCA set to mlx5"
    hcas = " ".join(f"[{nic}]mlx5_{nic}:1/IB" for nic in range(PER_NODE))
    yield f"{say} NET/IB : Using {hcas} [RO]; OOB eth0:10.0.{rank // PER_NODE}.1<0>"
    yield f"{say} Using network IB"
    yield (
        f"{say} ncclCommInitRank comm 0x55cc8aa86c70 rank {rank} nranks {RANKS} cudaDev {device} nvmlDev {device} "
        f"busId {device + 1}b000 commId 0x65e0bd6ee7449db4 - Init START"
    )
    for channel in range(CHANNELS):
        place = f"{say} Channel {channel:02d}/0 : "
        if following % PER_NODE:
            yield f"{place}{rank}[{device}] -> {following}[{following % PER_NODE}] via P2P/CUMEM/read"
        else:
            yield f"{place}{rank}[{device}] -> {following}[0] [send] via NET/IB/{device}/GDRDMA"
        if not device:
            yield f"{place}{before}[{before % PER_NODE}] -> {rank}[0] [receive] via NET/IB/{device}/GDRDMA"
    yield f"{say} {CHANNELS} coll channels, {CHANNELS} collnet channels, 16 nvls channels, 32 p2p channels"


def train(rank: int, turn: int) -> Iterator[str]:
    """Lines of collectives, and of the program from the last rank."""
    yield (
        f"{header(rank)} AllReduce: opCount {turn:x} sendbuff 0x7f8a{rank:08x} recvbuff 0x7f8a{rank:08x} acc (nil) "
        f"count 4194304 datatype 9 op 0 root 0 comm 0x55cc8aa86c70 [nranks={RANKS}] stream 0x55cc8a{rank:06x}"
    )
    if rank == RANKS - 1:
        yield (
            f"[default7]: [2026-11-21 08:00:00,123] iteration {turn:8d}/ 90000 | samples: {turn * 1024:12d} |"
            " elapsed time per iteration (ms): 4123.5 | learning rate: 1.5E-04 | lm loss: 2.345E+00 | norm: 0.345 |"
        )


def alltoall(rank: int, turn: int) -> Iterator[str]:
    """The connections of a rank with one that is `turn` away."""
    say, other = header(rank), (rank + turn) % RANKS
    for end, source, target in (("send", rank, other), ("receive", other, rank)):
        yield (
            f"{say} Channel {turn % 32:02d}/1 : {source}[{source % PER_NODE}] -> {target}[{target % PER_NODE}] [{end}] "
            f"via NET/IB/{rank % PER_NODE}/GDRDMA/Shared"
        )
