# SPDX-License-Identifier: Apache-2.0
"""Every collective by every algorithm that runs it, over each transport, against NumPy."""

import multiprocessing
import os
from datetime import timedelta
from itertools import combinations, product

import pytest
from tests.collectives import oracle
from tests.collectives.wiring import everybody, nets
from tests.transports.ranks import meet_on, on_ranks

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Dtype
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.plan import Tree
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.transports.store.file_store import FileStore

RUN_BY = {
    Algorithm.RING: [one for one in NUMBERS if not one.in_pairs],
    Algorithm.TREE: [Collective.ALL_REDUCE],
    Algorithm.ONE_SHOT: list(NUMBERS),
    Algorithm.TWO_SHOT: [Collective.ALL_REDUCE, Collective.REDUCE],
    Algorithm.PAIRS: [*(one for one in NUMBERS if one.in_pairs), oracle.ALL_TO_ALL_V],
}
ON_WIRES = [Algorithm.RING, Algorithm.TREE, Algorithm.PAIRS]
WORLDS = [
    *product(["SHM"], RUN_BY, [2, 3, 5, 8]),
    *product(["NET/Socket"], ON_WIRES, [2, 3, 5, 8]),
    *product(["mixed"], ON_WIRES, [3, 5]),
]


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


def connected(bootstrap, transport: str, algorithm: Algorithm | None) -> Communicator:
    """Two rings and a double tree, or pairs that go every second one over a socket."""
    ranks = bootstrap.world_size
    order = list(range(ranks))
    rings = [order, order[1:] + order[:1]]
    steps = nets(transport, rings)
    trees = [double(order, steps[0]), double(order[::-1], steps[1])]
    return Communicator(bootstrap, peers_over(transport, bootstrap), rings, steps, trees, only=algorithm)


def double(order: list[int], steps) -> Tree:
    """A tree in which every rank has two children, in this order."""
    parents = [-1] * len(order)
    for place, rank in enumerate(order[1:], 1):
        parents[rank] = order[(place - 1) // 2]
    return Tree(parents=parents, up=list(steps), down=list(steps[::-1]))


def peers_over(transport: str, bootstrap):
    """All ranks as they are, or as if those of odd number shared no memory with the others, or nobody with anybody."""
    peers = everybody(bootstrap)
    if transport == "SHM":
        return peers
    off = {"NCCL_SHM_DISABLE": "1"}
    return [
        peer if transport == "mixed" and peer.rank % 2 == 0 else type(peer)(**vars_of(peer) | {"settings": off})
        for peer in peers
    ]


def vars_of(peer):
    return {name: getattr(peer, name) for name in peer.__slots__}


def run_cases(comm: Communicator, collectives, seed: int) -> int:
    """All cases for these collectives; how many."""
    cases = oracle.cases(collectives, seed)
    for number, case in enumerate(cases):
        oracle.run(comm, case, seed * 10000 + number)
    return len(cases)


@pytest.mark.parametrize(("transport", "algorithm", "ranks"), WORLDS)
def test_against_numpy(transport, algorithm, ranks):
    def body(bootstrap):
        comm = connected(bootstrap, transport, algorithm)
        for one in RUN_BY[algorithm]:
            if one != oracle.ALL_TO_ALL_V:
                assert comm.choice(one, 100, Dtype.FLOAT)[0] is algorithm
        found = run_cases(comm, RUN_BY[algorithm], seed=ranks)
        used = {end.via.split("/")[0] for end in comm.ends.values()}
        assert "NET" in used if transport == "mixed" else used == {transport.split("/")[0]}
        return found > 60

    assert on_ranks(ranks, body) == [True] * ranks


def test_one_rank_alone():
    def body(bootstrap):
        return run_cases(connected(bootstrap, "SHM", None), [*NUMBERS, oracle.ALL_TO_ALL_V], seed=1) > 100

    assert on_ranks(1, body) == [True]


def rank_main(rank: int, ranks: int, path: str, transport: str, results) -> None:
    try:
        os.environ["NCCL_SOCKET_IFNAME"] = "lo"
        rendezvous = meet_on(FileStore(path, ranks, timedelta(seconds=40)), rank, ranks, timeout_s=40)
        bootstrap = rendezvous.join(rank)
        comm = connected(bootstrap, transport, None)
        run_cases(comm, [*NUMBERS, oracle.ALL_TO_ALL_V], seed=77)
        comm.close()
        bootstrap.close()
        rendezvous.close()
        results.put((rank, None))
    except BaseException as error:
        results.put((rank, repr(error)))


@pytest.mark.parametrize(("transport", "ranks"), [("SHM", 3), ("NET/Socket", 2), ("mixed", 4)])
def test_ranks_that_are_processes_by_the_algorithms_that_are_chosen(transport, ranks, tmp_path):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    arguments = (ranks, str(tmp_path / "store"), transport, results)
    processes = [context.Process(target=rank_main, args=(rank, *arguments)) for rank in range(ranks)]
    for process in processes:
        process.start()
    got = dict(results.get(timeout=50) for _ in processes)
    for process in processes:
        process.join()
    assert got == dict.fromkeys(range(ranks))


def test_the_cases_have_every_pair_of_values():
    cases = oracle.cases(NUMBERS, seed=5)
    rows = [(c.collective, c.dtype, c.op, c.count, c.in_place, c.root) for c in cases]
    values = [list(NUMBERS), oracle.DTYPES, list(oracle.Redop), oracle.COUNTS, [False, True], oracle.ROOTS]
    for i, j in combinations(range(len(values)), 2):
        assert {(row[i], row[j]) for row in rows} == set(product(values[i], values[j]))
    assert len(cases) < 180
