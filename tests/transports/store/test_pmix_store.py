# SPDX-License-Identifier: Apache-2.0
"""PMIx with a real Open MPI, and what is done where its library cannot be had."""

import contextlib
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.collectives.launch.peers import AS_ROOT, launch, peer
from tests.collectives.launch.remote_agent import remote_agent
from tests.hosts.netns import make_hosts
from tests.patience import HANGS_AFTER_S
from tests.transports.ranks import in_threads

from railgauge.topo.errors import RunError, UnavailableError
from railgauge.transports.store import pmix_library, pmix_store
from railgauge.transports.store.file_store import FileStore
from railgauge.transports.store.pmix_library import open_library
from railgauge.transports.store.pmix_store import open_pmix

SOON = timedelta(seconds=5)

MEET = """
import os
from datetime import timedelta
from railgauge.topo.errors import WaitTimeoutError
from railgauge.transports.store.pmix_store import job_size, open_pmix

process, processes = int(os.environ["PMIX_RANK"]), job_size()
with open_pmix(processes, timedelta(seconds=200), os.environ) as store:
    store.set(f"at/{process}", os.uname().nodename + " \\n" + "x" * 5000)
    assert store.compare_set(f"at/{process}", "", "again").startswith(os.uname().nodename.encode())
    found = [store.get(f"at/{p}").decode().split()[0] for p in range(processes)]
    assert not store.check(["nobody's"])
    try:
        store.wait(["nobody's"], timedelta(seconds=0.2))
    except WaitTimeoutError as error:
        line = f"{process} {type(store).__name__} {found} {str(error)[:12]}\\n"
        os.write(1, line.encode())  # at once: lines of several ranks are merged
"""
SCRIPT = [sys.executable, "-P", "-c", MEET]


def test_open_mpi_lets_ranks_meet():
    got = launch(peer("openmpi"), "--oversubscribe", "-np", "3", "-x", "HOME", *SCRIPT)
    assert got.returncode == 0, got.stderr
    assert sorted(line.split(" [")[0] for line in got.stdout.splitlines()) == [f"{p} PMIxStore" for p in range(3)]
    assert got.stdout.count("waited 0.2 s") == 3


def test_open_mpi_lets_ranks_of_two_hosts_meet(tmp_path):
    with make_hosts(2) as hosts:
        there = ("--prtemca", "plm_ssh_agent", remote_agent(hosts, tmp_path), "--host")
        on = ",".join(f"{address}:2" for address in hosts.addresses)
        mpirun = [peer("openmpi"), *there, on, "-np", "4", *SCRIPT]
        got = hosts.run(0, mpirun, env=clean_environment(**AS_ROOT))
        names = [hosts.names[0]] * 2 + [hosts.names[1]] * 2
    assert got.returncode == 0, got.stderr
    assert sorted(got.stdout.splitlines()) == [f"{p} PMIxStore {names} waited 0.2 s" for p in range(4)]


class FakeLibrary:
    """A libpmix that keeps what is published, and knows when two threads are in it at a time."""

    process = pmix_library.PmixProcess(b"job@1")

    def __init__(self):
        self.kept = {}
        self.crowded = False
        self._two = threading.Barrier(2)

    def publish(self, key, text):
        self._enter()
        self.kept[key] = text

    def lookup(self, key, _timeout_s):
        self._enter()
        return self.kept.get(key)

    def _enter(self):
        with contextlib.suppress(threading.BrokenBarrierError):
            self._two.wait(0.2)
            self.crowded = True


def test_threads_are_in_the_library_one_at_a_time(monkeypatch):
    library = FakeLibrary()
    monkeypatch.setattr(pmix_store, "open_library", lambda: library)
    with open_pmix(2, SOON, {}) as store:
        in_threads(2, lambda number: store.set(f"at/{number}", "here"))
        assert in_threads(2, lambda number: store.get(f"at/{number}")) == [b"here"] * 2
    assert library.kept == {f"job@1/at/{number}": b"here".hex() for number in range(2)}
    assert not library.crowded


class Refusing:
    """What ctypes loads: a libpmix whose server takes nothing."""

    def __init__(self, _path):
        self.PMIx_Init = lambda *_: 0
        self.PMIx_Publish = self.PMIx_Lookup = lambda *_: -25
        self.PMIx_Error_string = lambda _: b"PMIX_ERR_UNREACH"
        self.PMIx_Finalize = self.PMIx_Get = self.free = lambda *_: 0


def test_an_error_of_the_library_has_its_words_and_its_path(monkeypatch):
    monkeypatch.setattr(pmix_library.ctypes, "CDLL", Refusing)
    library = pmix_library.Library("/launcher/libpmix.so.2")
    with pytest.raises(RunError) as caught:
        library.publish("a", "here")
    assert str(caught.value) == "PMIx_Publish of a failed: PMIX_ERR_UNREACH (-25), /launcher/libpmix.so.2"
    with pytest.raises(RunError, match=r"^PMIx_Lookup of a failed: PMIX_ERR_UNREACH \(-25\)"):
        library.lookup("a", 1)


@pytest.fixture
def without_library(monkeypatch):
    def absent():
        raise UnavailableError("no usable libpmix to reach the launcher (none is installed)")

    monkeypatch.setattr(pmix_store, "open_library", absent)


def here(folder, size="2"):
    return {"PMIX_SERVER_TMPDIR": str(folder), "PMIX_NAMESPACE": "job@1", "OMPI_COMM_WORLD_LOCAL_SIZE": size}


def test_without_the_library_ranks_of_one_host_meet_in_mpiruns_folder(without_library, tmp_path):
    tmp_path.chmod(0o700)
    with open_pmix(2, SOON, here(tmp_path)) as first, open_pmix(2, SOON, here(tmp_path)) as second:
        assert isinstance(first, FileStore)
        first.set("hub", "here")
        assert second.get("hub") == b"here"


@pytest.mark.parametrize("why", ["two hosts", "open to others", "no folder"])
def test_without_the_library_others_are_told_what_to_pass(without_library, tmp_path, why):
    tmp_path.chmod(0o755 if why == "open to others" else 0o700)
    folder = tmp_path / "gone" if why == "no folder" else tmp_path
    env = here(folder, size="1" if why == "two hosts" else "2")
    with pytest.raises(UnavailableError, match="-x MASTER_ADDR=<host of rank 0> -x MASTER_PORT=29500"):
        open_pmix(2, SOON, env)


def test_a_host_without_the_library_says_so(monkeypatch):
    monkeypatch.setattr(
        "railgauge.transports.store.pmix_library._candidates", lambda _env: iter(["/none/libpmix.so.2"])
    )
    open_library.cache_clear()
    with pytest.raises(UnavailableError, match=r"no usable libpmix .*/none/libpmix\.so\.2"):
        open_library()
    open_library.cache_clear()


def test_no_library_is_looked_for_after_the_right_one(monkeypatch):
    def candidates(_env):
        yield "/launcher/libpmix.so.2"
        raise AssertionError("a search of the disk that nobody needs")

    monkeypatch.setattr(pmix_library, "_candidates", candidates)
    monkeypatch.setattr(pmix_library, "Library", lambda path: path)
    open_library.cache_clear()
    assert open_library() == "/launcher/libpmix.so.2"
    open_library.cache_clear()


def test_variables_of_an_mpirun_that_is_gone_are_an_error_with_a_way_out():
    library = next((Path(peer("openmpi")).parents[1] / "lib/openmpi").glob("libpmix.so.2"))
    env = clean_environment(PMIX_RANK="0", PMIX_NAMESPACE="gone@1", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="2")
    run = [sys.executable, "-m", "railgauge", "run", "all_reduce", "-b", "8", "-e", "8", "--timeout", "5"]
    got = subprocess.run(
        run,
        env=env | {"LD_LIBRARY_PATH": str(library.parent)},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert got.returncode == 3
    assert "PMIx server does not answer" in got.stderr
    assert "-x MASTER_ADDR=<host of rank 0>" in got.stderr
