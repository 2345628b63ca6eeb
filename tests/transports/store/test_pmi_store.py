# SPDX-License-Identifier: Apache-2.0
"""PMI-1 against a server of our own, which may misbehave, and against real process managers."""

import contextlib
import os
import socket
import sys
import threading
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.collectives.launch.peers import launch, peer
from tests.collectives.launch.remote_agent import remote_agent
from tests.hosts.netns import make_hosts

from railgauge.topo.errors import Error, RunError, UnavailableError, UsageError, WaitTimeoutError
from railgauge.transports.store.pmi_store import PMIStore

SHORT = timedelta(seconds=0.3)


class Manager:
    """A process manager that answers as hydra does; the barrier opens when `count` processes have entered."""

    def __init__(self, count):
        self.ends, theirs = zip(*(socket.socketpair() for _ in range(count)), strict=True)
        self.values, self.waiting, self.lines = {}, [], []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.serve, args=(end,), daemon=True) for end in theirs]
        for thread in self.threads:
            thread.start()

    def environ(self, process):
        return {"PMI_FD": str(self.ends[process].detach())}

    def serve(self, end):
        with end, end.makefile("r") as lines:
            for line in lines:
                words = dict(word.split("=", 1) for word in line.split())
                self.lines.append(words["cmd"])
                with self.lock:
                    for to, answer in self.answer(end, words):
                        to.sendall(answer.encode() + b"\n")

    def answer(self, end, words):
        match words["cmd"]:
            case "init":
                yield end, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1"
            case "get_my_kvsname":
                yield end, "cmd=my_kvsname rc=0 kvsname=kvs_1"
            case "put":
                self.values[words["key"]] = words["value"]
                yield end, "cmd=put_result rc=0 msg=success"
            case "get" if words["key"] in self.values:
                yield end, f"cmd=get_result rc=0 msg=success value={self.values[words['key']]}"
            case "get":
                yield end, "cmd=get_result rc=-1 msg=key_not_found value=unknown"
            case "barrier_in":
                self.waiting.append(end)
                if len(self.waiting) == len(self.ends):
                    yield from ((waiting, "cmd=barrier_out") for waiting in self.waiting)
            case "finalize":
                yield end, "cmd=finalize_ack"


def stores(count, timeout=timedelta(seconds=10)):
    manager = Manager(count)
    return manager, [PMIStore(timeout, manager.environ(process)) for process in range(count)]


def test_values_are_seen_once_all_have_come():
    _, (first, second) = stores(2)
    with first, second:
        first.set("railgauge/hub", b"10.0.0.1 \n\x00=")
        assert not first.check(["railgauge/hub"])  # its own host alone would see it
        second.set("railgauge/process/1", "node1")
        assert second.get("railgauge/hub") == b"10.0.0.1 \n\x00="
        assert first.multi_get(["railgauge/process/1"]) == [b"node1"]
        assert first.check(["railgauge/hub", "railgauge/process/1"])
        assert not first.check(["railgauge/hub", "other"])


def test_a_wait_ends_in_time_whether_the_others_have_come_or_not():
    _, (first, second) = stores(2)
    with first, second:
        first.set("hub", "here")
        with pytest.raises(WaitTimeoutError, match=r"waited 0.3 s for hub in the launcher's PMI"):
            first.wait(["hub"], SHORT)
        second.wait(["hub"])
        with pytest.raises(WaitTimeoutError, match="other"):
            first.wait(["hub", "other"], SHORT)


def test_a_late_value_is_waited_for():
    _, (first, second) = stores(2)
    with first, second:
        threading.Timer(0.2, second.set, ("late", "x")).start()
        assert first.get("late") == b"x"


def test_process_0_comes_once():
    _, (store,) = stores(1)
    with store:
        assert store.compare_set("hub", "", "a") == b"a"
        assert store.compare_set("hub", "", "b") == b"a"
        assert store.get("hub") == b"a"


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.add("n", 1),
        lambda store: store.append("n", "x"),
        lambda store: store.delete_key("n"),
        lambda store: store.num_keys(),
        lambda store: store.compare_set("n", "x", "y"),
        lambda store: store.set("two words", "x"),
        lambda store: store.set("a=b", "x"),
        lambda store: store.set("k" * 64, "x"),
        lambda store: store.set("k", "v" * 512),
    ],
)
def test_what_pmi_has_not_is_refused(call):
    _, (store,) = stores(1)
    with store, pytest.raises(UsageError, match="PMI"):
        call(store)


def test_closing_takes_leave_once():
    manager, (store,) = stores(1)
    store.set("hub", "here")
    store.get("hub")
    store.close()
    store.close()
    assert manager.lines.count("finalize") == 1
    with pytest.raises(UsageError, match="closed"):
        store.get("hub")


def test_who_offers_no_pmi_is_told_what_to_pass():
    with pytest.raises(UnavailableError, match="MASTER_ADDR=<host of rank 0>"):
        PMIStore(SHORT, {"PMI_RANK": "0", "PMI_SIZE": "2"})
    with pytest.raises(UnavailableError, match="PMI_FD=987"):
        PMIStore(SHORT, {"PMI_FD": "987"})


@contextlib.contextmanager
def answered_with(answer, close=True):
    """A store whose manager takes all requests, and whose whole answer is this."""
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(answer)
        if close:
            theirs.shutdown(socket.SHUT_WR)
        with PMIStore(SHORT, {"PMI_FD": str(ours.detach())}) as store:
            yield store


def test_a_manager_that_is_silent_gone_or_speaks_otherwise_is_an_error_in_time():
    for answer, close in ((b"", False), (b"", True), (b"cmd=2 rc=0\n", True), (b"x" * 50_000, True)):
        with pytest.raises(RunError, match="process manager"), answered_with(answer, close):
            pass


BEGUN = b"cmd=response_to_init rc=0\ncmd=my_kvsname rc=0 kvsname=kvs_1\n"
ANSWERS = [b"cmd=barrier_out\n", b"cmd=get_result rc=0 value=", b"cmd=put_result rc=", b"6869\n", b"\n", b"=", b"x"]


@settings(deadline=None)
@given(st.lists(st.one_of(st.sampled_from(ANSWERS), st.binary(max_size=20)), max_size=6))
def test_no_answer_is_more_than_an_error(answers):
    with contextlib.suppress(Error), answered_with(BEGUN + b"".join(answers)) as store:
        store.get("hub")
        store.set("hub", "here")


def test_a_foreign_value_is_an_error():
    with (
        answered_with(BEGUN + b"cmd=barrier_out\ncmd=get_result rc=0 value=hello\n") as store,
        pytest.raises(RunError, match="a value of another program at hub"),
    ):
        store.get("hub")


MEET = """
import os, sys
from datetime import timedelta
from railgauge.transports.store.pmi_store import PMIStore

process, processes = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
with PMIStore(timedelta(seconds=20)) as store:
    store.set(f"at/{process}", os.uname().nodename + " \\n")
    found = [store.get(f"at/{p}").decode().strip() for p in range(processes)]
    os.write(1, f"{process} {found}\\n".encode())  # at once: lines of several ranks are merged
"""
SCRIPT = [sys.executable, "-P", "-c", MEET]


@pytest.mark.parametrize("program", ["mpiexec.hydra", "mpiexec.gforker"])
def test_real_process_managers_let_ranks_meet(program):
    got = launch(peer("mpich", program), "-n", "3", *SCRIPT)
    assert got.returncode == 0, got.stderr
    assert sorted(line.partition(" ")[2] for line in got.stdout.splitlines()) == [str([os.uname().nodename] * 3)] * 3


def test_hydra_lets_ranks_of_two_hosts_meet(tmp_path):
    with make_hosts(2) as hosts:
        there = ("-launcher", "ssh", "-launcher-exec", remote_agent(hosts, tmp_path), "-hosts")
        got = hosts.run(0, [peer("mpich"), *there, ",".join(f"{a}:2" for a in hosts.addresses), "-n", "4", *SCRIPT])
        names = [hosts.names[0]] * 2 + [hosts.names[1]] * 2
    assert got.returncode == 0, got.stderr
    assert sorted(got.stdout.splitlines()) == [f"{process} {names}" for process in range(4)]
