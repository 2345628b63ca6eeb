# SPDX-License-Identifier: Apache-2.0
"""Collectives over several hosts by every algorithm that is for them, against NumPy, over NET/Socket on loopback."""

from itertools import product

import numpy as np
import pytest
from tests.collectives import oracle
from tests.collectives.hosts import over_hosts
from tests.transports.ranks import on_ranks

from railgauge.collectives.cost.host_cost import BY_DOUBLING, BY_HALVING, OF_EQUAL_HOSTS
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective
from railgauge.transports.select import why_not_shm

HOSTS = {
    "2x1": [[0], [1]],
    "2x2": [[0, 1], [2, 3]],
    "3x1": [[0], [1], [2]],
    "2+1": [[0, 2], [1]],
    "3+2": [[0, 1, 4], [3, 2]],
    "4x2": [[0, 4], [1, 5], [2, 6], [3, 7]],
}
IN_HIERARCHY = (Collective.ALL_REDUCE, Collective.BROADCAST, Collective.REDUCE, *OF_EQUAL_HOSTS)
ACROSS = [Algorithm.RECURSIVE_DOUBLING, Algorithm.RECURSIVE_HALVING, Algorithm.HIERARCHICAL]


def run_by(algorithm: Algorithm, hosts: list[list[int]]) -> list[Collective]:
    if algorithm is not Algorithm.HIERARCHICAL:
        return [*(BY_DOUBLING if algorithm is Algorithm.RECURSIVE_DOUBLING else BY_HALVING)]
    sizes = [len(ranks) for ranks in hosts]
    if max(sizes) == 1:
        return []
    return [one for one in IN_HIERARCHY if one not in OF_EQUAL_HOSTS or len(set(sizes)) == 1]


WORLDS = [(name, one) for name, one in product(HOSTS, ACROSS) if run_by(one, HOSTS[name])]


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


@pytest.mark.parametrize(("name", "algorithm"), WORLDS)
def test_against_numpy(name, algorithm):
    hosts = HOSTS[name]
    collectives = run_by(algorithm, hosts)

    def body(bootstrap):
        comm = over_hosts(bootstrap, hosts, algorithm)
        for one in collectives:
            assert comm.choice(one, 100, Dtype.FLOAT)[0] is algorithm
        cases = oracle.cases(collectives, seed=len(name))
        for number, case in enumerate(cases):
            oracle.run(comm, case, number)
        for wire, end in comm.ends.items():
            near = why_not_shm(comm.peers[wire.source], comm.peers[wire.target]) is None
            assert end.via == ("SHM" if near else "NET/Socket/0")
        return len(cases) > 60

    ranks = sum(len(ranks) for ranks in hosts)
    assert on_ranks(ranks, body) == [True] * ranks


@pytest.mark.parametrize("algorithm", ACROSS)
def test_what_is_longer_than_slots_and_places(algorithm):
    """3 ranks on 2 hosts, 5 MB each: several slots of a connection and several rounds of a shared segment."""
    count = 1_234_567

    def body(bootstrap):
        comm = over_hosts(bootstrap, HOSTS["2+1"], algorithm)
        data = np.arange(count, dtype=np.int32) + comm.rank
        return np.array_equal(comm.all_reduce(data), 3 * np.arange(count) + 3)

    assert on_ranks(3, body) == [True] * 3


@pytest.mark.parametrize(("name", "algorithm"), WORLDS)
def test_real_numbers_come_out_equal_on_all_ranks(name, algorithm):
    hosts = HOSTS[name]
    ranks = sum(len(ranks) for ranks in hosts)

    def body(bootstrap):
        random = np.random.default_rng(bootstrap.rank)
        comm = over_hosts(bootstrap, hosts, algorithm)
        sums = [comm.all_reduce(random.standard_normal(n).astype(np.float32)).tobytes() for n in (7, 40_001)]
        return sums, comm.all_reduce(np.array([-0.0, 0.0], np.float32)[[comm.rank % 2]], op=Redop.MAX).tobytes()

    got = on_ranks(ranks, body)
    assert got == [got[0]] * ranks


def test_a_part_of_a_communicator_has_its_own_hosts():
    """The split by host has only shared segments; the one across has one rank of each."""

    def body(bootstrap):
        comm = over_hosts(bootstrap, HOSTS["2x2"], Algorithm.HIERARCHICAL)
        within, across = comm.split(comm.rank // 2), comm.split(comm.rank % 2)
        one = np.array([1 << comm.rank])
        return within.all_reduce(one.copy())[0], across.all_reduce(one.copy())[0], comm.all_reduce(one)[0]

    assert on_ranks(4, body) == [(3, 5, 15), (3, 10, 15), (12, 5, 15), (12, 10, 15)]


def test_memory_of_the_communicator_is_a_ranks_own_between_hosts():
    def body(bootstrap):
        comm = over_hosts(bootstrap, HOSTS["2x2"], Algorithm.HIERARCHICAL)
        data = comm.empty(1000, np.int32)
        data[:] = comm.rank
        return type(comm.memory(8).obj), comm.all_reduce(data).tolist() == [6] * 1000

    assert on_ranks(4, body) == [(bytearray, True)] * 4
