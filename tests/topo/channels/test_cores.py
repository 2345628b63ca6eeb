# SPDX-License-Identifier: Apache-2.0
"""Cores: which threads are one, and how they are shared out."""

from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.channels.cores import cores_of, logical_numbers, share
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.sysfs_threads import thread_siblings


def test_threads_are_as_the_machine_tells():
    siblings = {0: (0, 1), 1: (0, 1), 2: (2, 3), 3: (2, 3)}
    assert cores_of((0, 1, 2, 3), siblings) == ((0, 1), (2, 3))


def test_equal_runs_are_the_threads_of_the_same_cores():
    assert cores_of((0, 1, 4, 5), {}) == ((0, 4), (1, 5))
    assert cores_of((0, 1, 2, 4), {}) == ((0,), (1,), (2,), (4,))
    assert cores_of((), {}) == ()


@given(st.integers(0, 40), st.integers(1, 9))
def test_shares_are_disjoint_even_and_whole(count, parts):
    cores = tuple((n,) for n in range(count))
    taken = [share(cores, part, parts) for part in range(parts)]
    if count < parts:
        assert set(taken) == {cores}
        return
    assert tuple(core for one in taken for core in one) == cores
    assert max(map(len, taken)) - min(map(len, taken)) <= 1


def test_logical_numbers_go_by_numa_node():
    even, odd = cores_of((0, 2), {0: (0,), 2: (2,)}), cores_of((1, 3), {1: (1,), 3: (3,)})
    assert logical_numbers([odd, even]) == {(0,): 0, (2,): 1, (1,): 2, (3,): 3}


def test_a_core_has_its_first_threads_number_where_nodes_are_not_known():
    assert logical_numbers([((8, 24), (9, 25))]) == {(8, 24): 8, (9, 25): 9}


def test_siblings_come_from_sysfs(tmp_path):
    for cpu, text in ((0, "0,2\n"), (1, "junk\n"), (2, "0,2\n"), (3, "5\n")):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(text)
    assert thread_siblings(LiveReader(str(tmp_path)), range(5)) == {0: (0, 2), 2: (0, 2)}
    assert thread_siblings(None, range(5)) == {}
