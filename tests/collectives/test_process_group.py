# SPDX-License-Identifier: Apache-2.0
"""Programs that meet by `railgauge.init_process_group`, started by hand as processes of their own."""

import contextlib
import gc
import os
import re
import signal
import subprocess
import sys
import time
from datetime import timedelta

import numpy as np
import pytest
from tests.collectives.by_hand import PROGRAM, finish, free_port, start
from tests.patience import FAR_S, HANGS_AFTER_S
from tests.transports.ranks import in_threads

import railgauge
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.launch.arrival import arrive
from railgauge.collectives.launch.place import Place
from railgauge.topo.errors import RunError, UsageError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.store.hash_store import HashStore
from railgauge.transports.store.tcp_store import TCPStore

MESSAGES = """
import sys
import numpy as np
import railgauge
url, rank, size = sys.argv[1:]
with railgauge.init_process_group(url, int(rank), int(size)) as group:
    comm, following = group.communicator, (group.rank + 1) % group.size
    for count in (3, 300_000):
        coming = comm.irecv(got := np.zeros(count, int))
        comm.send(np.full(count, group.rank), following)
        coming.wait()
        assert (got == coming.source).all() and coming.source == (group.rank - 1) % group.size
    part = comm.subset([0, 2]) if group.rank != 1 else None
    if part:
        part.isend(np.array([group.rank]), 1 - part.rank)
        part.recv(other := np.zeros(1, int), 1 - part.rank)
        assert other[0] == 2 - group.rank
    print(group.rank)
"""


BREAK_PLAN = """
import railgauge.collectives.process_group as process_group
process_group.make_plan = lambda *arguments, **others: 1 / 0
"""


WHERE = """
import os, sys
import railgauge
url, rank, size = sys.argv[1:]
before = os.sched_getaffinity(0)
with railgauge.init_process_group(url, int(rank), int(size), bind=BIND):
    within = os.sched_getaffinity(0)
assert os.sched_getaffinity(0) == before
print(*sorted(within))
"""


def test_processes_send_to_each_other(tmp_path):
    url = (tmp_path / "store").as_uri()
    assert finish([start(url, rank, 3, MESSAGES, NCCL_SOCKET_IFNAME="lo") for rank in range(3)]) == ["0", "1", "2"]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_processes_meet_at_an_address(size):
    url = f"tcp://127.0.0.1:{free_port()}"
    assert finish([start(url, rank, size) for rank in range(size)]) == [f"{rank} {size}" for rank in range(size)]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core alone is everybody's")
@pytest.mark.parametrize("bind", [True, False])
def test_ranks_get_cores_of_their_own_for_as_long_as_the_group_is_open(bind):
    url = f"tcp://127.0.0.1:{free_port()}"
    told = finish([start(url, rank, 2, WHERE.replace("BIND", str(bind))) for rank in range(2)])
    first, second = ({int(core) for core in cores.split()} for cores in told)
    assert first | second <= os.sched_getaffinity(0)
    assert first.isdisjoint(second) if bind else first == second == os.sched_getaffinity(0)


def test_ranks_that_a_launcher_has_bound_stay_where_they_are():
    url, core = f"tcp://127.0.0.1:{free_port()}", min(os.sched_getaffinity(0))
    pinned = WHERE.replace("BIND", "True").replace("before =", f"os.sched_setaffinity(0, {{{core}}}); before =")
    one, both = finish([start(url, 0, 2, pinned), start(url, 1, 2, WHERE.replace("BIND", "True"))])
    assert one == str(core)
    assert len(both.split()) == len(os.sched_getaffinity(0))


def test_the_address_may_carry_rank_and_size():
    url = f"tcp://127.0.0.1:{free_port()}"
    assert finish([start(f"{url}?rank={r}&world_size=2", "-", "-") for r in range(2)]) == ["0 2", "1 2"]


def test_processes_meet_in_a_file(tmp_path):
    url = f"file://{tmp_path}/rendezvous"
    assert finish([start(url, rank, 3) for rank in range(3)]) == ["0 3", "1 3", "2 3"]


FORKS = """
import gc, os, sys
from datetime import timedelta
import numpy as np
import railgauge
from railgauge.topo.errors import RunError
url, rank, size = sys.argv[1:]

def refused(call):
    try:
        call()
    except RunError as error:
        assert f"was forked from rank {rank}" in str(error), error
    else:
        raise AssertionError("a fork's copy takes part")

def child(group):
    comm = group.communicator
    if what == "drops":
        del group, comm
        gc.collect()
    elif what == "uses":
        for call in (
            lambda: comm.all_reduce(data),
            lambda: comm.all_reduce(data, async_op=True).wait(),
            lambda: comm.alltoall(data[:900], data[900:1800].copy()),
            lambda: comm.split(0),
            lambda: comm.empty(10),
            group.barrier,
        ):
            refused(call)
    elif what == "closes":
        comm.close()
        group.close()
    elif what == "raises":
        raise SystemExit(0)

what = os.environ["WHAT"]
with railgauge.init_process_group(url, int(rank), int(size), timedelta(seconds=20), bind=False) as group:
    data = np.ones(100_000, np.float32)
    group.communicator.all_reduce(data, async_op=True).wait()
    pid = os.fork()
    if pid == 0:
        if what == "raises":
            child(group)
        child(group)
        del group
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    group.communicator.all_reduce(data)
    group.barrier()
    assert (data == int(size) ** 2).all()
    print("right")
"""


@pytest.mark.parametrize("shm", ["0", "1"], ids=["SHM", "sockets"])
@pytest.mark.parametrize("what", ["drops", "uses", "closes", "raises", "ends"])
def test_a_fork_has_no_part_in_the_run_and_ends_nothing(tmp_path, what, shm):
    quiet = "ignore::DeprecationWarning"  # Python 3.12 on warns of a fork beside threads
    env = {"WHAT": what, "NCCL_SHM_DISABLE": shm, "NCCL_SOCKET_IFNAME": "lo", "PYTHONWARNINGS": quiet}
    ranks = [start(f"file://{tmp_path}/rendezvous", rank, 2, FORKS, **env) for rank in range(2)]
    told = [rank.communicate(timeout=HANGS_AFTER_S) for rank in ranks]
    assert told == [("right\n", "")] * 2


def test_a_fork_does_not_hide_that_its_parent_has_died(tmp_path):
    program = """
import os, sys, time
from datetime import timedelta
import railgauge
from railgauge.topo.errors import PeerLostError
group = railgauge.init_process_group(sys.argv[1], int(sys.argv[2]), 2, timedelta(seconds=600), bind=False)
if group.rank == 1:
    child = os.fork()
    if child == 0:
        os.close(1)
        os.close(2)
        time.sleep(3600)
    print(child, flush=True)
    os.kill(os.getpid(), 9)
try:
    group.barrier()
except PeerLostError as error:
    assert error.rank == 1, error
    os._exit(0)
"""
    ranks = [start(f"file://{tmp_path}/rendezvous", rank, 2, program) for rank in range(2)]
    child, _ = ranks[1].communicate(timeout=HANGS_AFTER_S)
    try:
        assert ranks[0].communicate(timeout=HANGS_AFTER_S) == ("", "")
    finally:
        os.kill(int(child), signal.SIGKILL)
    assert ranks[0].returncode == 0


def test_a_second_run_meets_in_the_same_file(tmp_path):
    url = f"file://{tmp_path}/rendezvous"
    for _ in range(2):
        assert finish([start(url, rank, 2) for rank in range(2)]) == ["0 2", "1 2"]


def test_the_environment_gives_the_place():
    env = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    assert finish([start("env://", "-", "-", RANK=str(rank), **env) for rank in range(2)]) == ["0 2", "1 2"]


def test_a_failing_rank_ends_the_others():
    url = f"tcp://127.0.0.1:{free_port()}"
    failing = PROGRAM.replace("data = np.full", "raise SystemExit('no more')\n    data = np.full")
    other = start(url, 0, 2)
    failed = subprocess.run([sys.executable, "-P", "-c", failing, url, "1", "2"], capture_output=True, check=False)
    _, err = other.communicate(timeout=HANGS_AFTER_S)
    assert failed.returncode == 1
    assert other.returncode != 0
    assert "rank 1" in err


@pytest.mark.parametrize("interrupted", [0, 1])
def test_ctrl_c_while_others_are_awaited_ends_all_that_are_there(interrupted):
    port = free_port()
    here = [start(f"tcp://127.0.0.1:{port}", rank, 3) for rank in range(2)]
    store = TCPStore("127.0.0.1", port, timeout=timedelta(seconds=FAR_S))
    store.wait(["railgauge/hub", "railgauge/process/1"])
    here[interrupted].send_signal(signal.SIGINT)
    errors = [process.communicate(timeout=HANGS_AFTER_S)[1] for process in here]
    assert "KeyboardInterrupt" in errors[interrupted]
    assert re.search(rf"rank {interrupted}( on \S+)?: interrupted", errors[1 - interrupted])
    store.close()


def test_an_exception_while_connecting_ends_the_others_at_once():
    url = f"tcp://127.0.0.1:{free_port()}"
    failing = PROGRAM.replace("url, rank", f"{BREAK_PLAN}url, rank", 1)
    processes = [start(url, 0, 2), start(url, 1, 2, program=failing)]
    other, own = [process.communicate(timeout=HANGS_AFTER_S)[1] for process in processes]
    assert "ZeroDivisionError: division by zero" in own
    assert "rank 1: unexpected ZeroDivisionError: division by zero" in other


def test_what_the_others_still_have_to_get_is_sent_before_they_are_told_that_this_rank_leaves(monkeypatch):
    order = []
    for kind in (Bootstrap, Communicator):
        close = kind.close
        monkeypatch.setattr(kind, "close", lambda self, close=close: (order.append(type(self)), close(self)))
    group = railgauge.init_process_group("hash://", 0, 1)
    group.close()
    group.close()
    assert order == [Communicator, Bootstrap]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "are missing"),
        ({"rank": 0}, "give both"),
        ({"init_method": "tcp://h:1?rank=0", "rank": 1, "world_size": 2}, "the init method says 0"),
        ({"init_method": "ftp://h:1", "rank": 0, "world_size": 2}, "not an init method"),
        ({"rank": 2, "world_size": 2}, "out of range for world size 2"),
    ],
)
def test_half_a_place_is_refused(arguments, words, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match=words):
        railgauge.init_process_group(**arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"init_method": "hash://", "store": HashStore()}, "give a store or an init method, not both"),
        ({"store": HashStore(), "rank": None}, "rank and world_size"),
        ({"store": "tcp://h:1"}, "store is 'tcp://h:1': expected one of railgauge"),
        ({"timeout": 30}, "timeout is 30: expected a datetime.timedelta"),
        ({"init_method": "hash://", "timeout": timedelta.max}, "timeout .* seconds"),
        ({"init_method": b"hash://"}, "init_method is b'hash://': expected a text"),
        ({"init_method": "hash://", "rank": "0"}, "rank is '0': expected a whole number"),
        ({"init_method": "hash://", "rank": 0.0}, "rank is 0.0"),
        ({"init_method": "hash://", "world_size": True}, "world_size is True"),
    ],
)
def test_arguments_of_another_type_are_told(arguments, words):
    with pytest.raises(UsageError, match=words):
        railgauge.init_process_group(**({"rank": 0, "world_size": 1} | arguments))


def test_numpys_whole_numbers_are_some():
    railgauge.init_process_group("hash://", np.int64(0), np.int32(1)).close()


def test_a_closed_group_says_so_at_once():
    group = railgauge.init_process_group("hash://", 0, 1)
    group.close()
    for operation in (group.barrier, lambda: group.communicator.all_reduce(np.zeros(3, np.float32))):
        with pytest.raises(UsageError, match="this group is closed"):
            operation()


def meet(store, rank, **others):
    return railgauge.init_process_group(None, rank, 2, timedelta(seconds=FAR_S), store=store, **others)


def test_a_store_of_ones_own_serves_one_group_after_another():
    store = HashStore()

    def process_main(rank):
        for _ in range(3):
            with meet(store, rank) as group:
                group.barrier()
            time.sleep(0.3 * rank)  # one comes late to the next
        return "met"

    assert in_threads(2, process_main) == ["met"] * 2


def test_a_store_of_ones_own_serves_again_after_a_group_that_failed():
    store = HashStore()

    def process_main(rank):
        with contextlib.suppress(RunError, ZeroDivisionError), meet(store, rank) as group:
            group.barrier()
            1 / (1 - rank)
            group.barrier()
        with meet(store, rank) as group:
            group.barrier()
        return "met"

    assert in_threads(2, process_main) == ["met"] * 2


def test_a_group_that_is_dropped_ends_the_run_at_once():
    store = HashStore()

    def process_main(rank):
        group = meet(store, rank)
        group.barrier()
        if rank == 0:
            with pytest.warns(ResourceWarning, match="was not closed"):
                del group
            return
        with group, pytest.raises(RunError, match="rank 0: its program did not close the process group"):
            group.barrier()
        return

    assert in_threads(2, process_main) == [None, None]


def test_a_rendezvous_that_is_dropped_ends_at_once():
    place = Place(process=0, processes=2, init_method="hash://", launcher="a test")
    arrived = arrive(place, ranks_per_process=1, timeout_s=FAR_S, store=HashStore())
    arrived.__enter__()
    del arrived
    gc.collect()


LEFT_OPEN = """
group = railgauge.init_process_group(url, int(rank), int(size), timedelta(seconds=600))
kept = [group, group.communicator]
kept.append(kept)
group.barrier()
if rank == "1":
    time.sleep(0.5)
"""


def test_a_group_left_open_at_the_end_of_the_program_ends_at_once_and_quietly():
    program = PROGRAM.partition("given =")[0].replace("import sys", "import sys, time") + LEFT_OPEN
    url = f"tcp://127.0.0.1:{free_port()}"
    processes = [start(url, rank, 2, program=program) for rank in range(2)]
    assert [process.communicate(timeout=HANGS_AFTER_S) for process in processes] == [("", "")] * 2


def test_a_rank_that_cannot_read_its_topology_ends_the_others(tmp_path):
    url = f"tcp://127.0.0.1:{free_port()}"
    (tmp_path / "topo.xml").write_text("<system")
    processes = [start(url, 0, 2, NCCL_TOPO_FILE=str(tmp_path / "topo.xml")), start(url, 1, 2)]
    errors = [process.communicate(timeout=HANGS_AFTER_S)[1] for process in processes]
    assert all("topo.xml" in error for error in errors), errors
