# SPDX-License-Identifier: Apache-2.0
"""What is particular to the FileStore: whose file it is, what a run leaves, files that are damaged or taken away."""

import contextlib
import errno
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.patience import HANGS_AFTER_S

from railgauge.topo.errors import Error, InputError, RunError, UnavailableError, UsageError, WaitTimeoutError
from railgauge.transports.store import FileStore, file_lock, file_log
from railgauge.transports.store.file_store import MUTEX

LONG = timedelta(seconds=20)
SHORT = timedelta(milliseconds=200)
HOLD = """
import sys
from railgauge.transports.store import FileStore
store = FileStore(sys.argv[1], int(sys.argv[2]))
store.set("stale", "1")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "store")


@contextlib.contextmanager
def holder(path, world_size=-1):
    """Another process that has the store open."""
    command = [sys.executable, "-c", HOLD, path, str(world_size)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def test_several_processes_meet(path):
    code = """
import sys
from railgauge.transports.store import FileStore
with FileStore(sys.argv[1], 4) as store:
    store.set(f"rank{sys.argv[2]}", sys.argv[2])
    assert store.multi_get([f"rank{n}" for n in range(4)]) == [b"0", b"1", b"2", b"3"]
    for _ in range(50):
        store.add("count", 1)
    store.add("done", 1)
    while store.get("done") != b"4":
        pass
    assert store.get("count") == b"200"
"""
    for _ in range(2):  # the second run on the same file works
        processes = [subprocess.Popen([sys.executable, "-c", code, path, str(rank)]) for rank in range(4)]
        assert [process.wait(HANGS_AFTER_S) for process in processes] == [0] * 4
        assert os.path.getsize(path) == 0


def test_the_file_is_its_owners_alone(path):
    old = os.umask(0)
    try:
        with FileStore(path):
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    finally:
        os.umask(old)


def test_a_store_that_others_could_read_is_made_private(path):
    with open(path, "w"):
        os.chmod(path, 0o644)
    with FileStore(path):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_what_a_killed_run_left_is_begun_anew(path):
    with holder(path, 2) as process:
        process.kill()
    assert os.path.getsize(path) > 0
    with FileStore(path, 2) as store:
        assert not store.check(["stale"])


def test_keys_stay_as_long_as_somebody_has_the_store_open(path):
    with holder(path):
        store = FileStore(path)
    assert store.get("stale") == b"1"  # the process that put it has been killed meanwhile
    store.close()
    assert os.path.getsize(path) == 0


def test_a_run_that_still_runs_is_named(path):
    with (
        holder(path, 1) as process,
        pytest.raises(UsageError, match=rf"run of 1 .*pid {process.pid}.*wait for it to end"),
    ):
        FileStore(path, 1)


def test_a_process_too_many_is_refused(path):
    refused = pytest.raises(UsageError, match="a run of 2 processes has this file open")
    with FileStore(path, 2), FileStore(path, 2), refused:
        FileStore(path, 2)


@pytest.mark.parametrize("world_size", [-1, 0])
def test_without_a_world_any_number_have_the_file_open(path, world_size):
    with FileStore(path, world_size) as first, FileStore(path, world_size) as second:
        first.set("key", "there")
        assert second.get("key") == b"there"


def test_a_store_that_is_let_go_is_left(path):
    store = FileStore(path)
    store.set("a", "1")
    del store
    with FileStore(path, 1) as store:
        assert not store.check(["a"])


def test_a_fork_does_not_end_its_parents_part(path):
    with FileStore(path) as store:
        store.set("a", "1")
        if (child := os.fork()) == 0:
            store.__del__()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        with FileStore(path) as other:
            assert other.get("a") == b"1"


@pytest.mark.parametrize(
    "content", [b"# a hostfile\n10.0.0.1 slots=4\n", b"\x00" * 100, b"railgauge-store2" + b"x" * 40]
)
def test_a_file_of_something_else_is_left_alone(path, content):
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, 0o640)
    with pytest.raises(InputError, match="is not a store: it begins with"):
        FileStore(path)
    with open(path, "rb") as file:
        assert file.read() == content
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640


@pytest.mark.parametrize("cut", [1, 20, 33, 45])
def test_a_truncated_file_that_nobody_has_open_is_begun_anew(path, cut):
    with holder(path), open(path, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(content[:cut])
    with FileStore(path) as store:
        assert store.num_keys() == 0


def test_a_file_that_ends_within_a_record_is_an_error(path):
    with FileStore(path) as store, FileStore(path) as other:
        store.set("a", "12345")
        other.get("a")
        store.set("b", "12345")
        os.truncate(path, os.path.getsize(path) - 2)
        with pytest.raises(InputError, match=r"damaged: it ends within a record.*remove it"):
            other.get("b")


def test_a_file_that_is_taken_away_is_an_error(path):
    with FileStore(path, timeout=LONG) as store:
        os.unlink(path)
        with pytest.raises(RunError, match="was removed while"):
            store.get("a")


def test_a_file_that_another_run_began_anew_is_an_error(path):
    with FileStore(path, timeout=LONG) as store:
        store.set("a", "1")
        with open(path, "r+b") as file:
            file.seek(len(file_log.MAGIC))
            file.write(b"another run's id")
        with pytest.raises(RunError, match=r"restarted this file.*nolock"):
            store.get("a")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
@given(noise=st.binary(max_size=80), at=st.integers(0, 200))
def test_any_noise_in_the_file_is_read_or_an_error(tmp_path, noise, at):
    path = str(tmp_path / "noisy")
    with contextlib.suppress(Error), FileStore(path, timeout=SHORT) as store, FileStore(path, timeout=SHORT) as other:
        for n in range(5):
            store.set(f"k{n}", "value")
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(noise)
        other.multi_get(["k0", "k4"])
    os.unlink(path)


def test_a_full_disk_is_told_and_leaves_the_file_as_it_was(path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with FileStore(path) as store, FileStore(path) as other:
        store.set("a", "1")
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full)
            with pytest.raises(InputError, match=r"cannot be written: No space left"):
                other.set("a", "2")
        assert store.get("a") == b"1"


WRITE_TOO_MUCH = """
import resource, sys
from railgauge.topo.errors import InputError
from railgauge.transports.store import FileStore
with FileStore(sys.argv[1]) as store:
    store.set("a", "1")
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        store.set("big", b"x" * 100_000)
    except InputError as error:
        print(error)
    print(store.check(["big"]), store.get("a"))
    store.set("small", "fits")
"""


def test_a_write_that_fails_is_undone_for_all(path):
    with FileStore(path) as store:
        command = [sys.executable, "-c", WRITE_TOO_MUCH, path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False)
        assert done.stdout == f"{path}: cannot be written: File too large\nFalse b'1'\n", done.stderr
        assert store.get("small") == b"fits"
        assert not store.check(["big"])


def test_a_full_disk_that_is_told_late_is_noticed_too(tmp_path, monkeypatch):
    """NFS takes what is written, and says at fsync(2) that the server had no place for it."""

    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "major", lambda device: 0)
    with FileStore(str(tmp_path / "store")) as store, FileStore(str(tmp_path / "store")) as other:
        store.set("a", "1")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", full)
            with pytest.raises(InputError, match=r"cannot be written: No space left"):
                other.set("a", "2")
        assert (store.get("a"), other.get("a")) == (b"1", b"1")


def test_what_is_interrupted_within_a_change_is_not_taken_for_done(path, monkeypatch):
    def interrupt(records):
        raise KeyboardInterrupt

    with FileStore(path) as store:
        with monkeypatch.context() as patch:
            patch.setattr(store._log, "add", interrupt)
            with pytest.raises(KeyboardInterrupt):
                store.set("a", "1")
        assert not store.check(["a"])


def test_a_file_that_can_be_reached_no_more_is_told(path, monkeypatch):
    def stale(*arguments):
        raise OSError(errno.ESTALE, "Stale file handle")

    with FileStore(path) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pread", stale)
            with pytest.raises(InputError, match=r"store: cannot be used as a store: Stale file handle"):
                store.get("a")
        with monkeypatch.context() as patch:
            patch.setattr(file_lock.fcntl, "fcntl", stale)
            with pytest.raises(InputError, match=r"store: cannot be used as a store: Stale file handle"):
                store.get("a")


def test_a_filesystem_without_locks_is_told(path, monkeypatch):
    def refuse(fd, command, argument):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(file_lock.fcntl, "fcntl", refuse)
    with pytest.raises(UnavailableError, match=r"cannot be locked: Function not implemented.*flock"):
        FileStore(path)


def test_a_lock_that_is_never_given_back_is_not_waited_for_forever(path):
    with FileStore(path, timeout=SHORT) as store:
        fd = os.open(path, os.O_RDWR)
        try:
            assert file_lock.try_lock(fd, MUTEX)
            with pytest.raises(WaitTimeoutError, match=r"waited 0.2 s for the lock of .*store"):
                store.set("a", "1")
        finally:
            os.close(fd)


def test_a_path_that_cannot_be_opened_is_told(tmp_path):
    with pytest.raises(InputError, match="cannot be opened as a store: No such file or directory: do all hosts"):
        FileStore(str(tmp_path / "no-folder/store"))


def test_what_is_no_regular_file_is_told(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (str(tmp_path / "fifo"), str(tmp_path), "/dev/null", "/dev/tty"):
        with pytest.raises(InputError, match=f"^{path}: is not a regular file"):
            FileStore(path)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a symbolic link"):
        FileStore(str(tmp_path / "link"))
    assert not (tmp_path / "elsewhere").exists()


def test_another_users_file_is_refused(path):
    if os.geteuid():
        pytest.skip("only root can make another user's file")
    with open(path, "w"):
        os.chown(path, 1234, 1234)
    with pytest.raises(InputError, match=r"belongs to another user \(uid 1234\)"):
        FileStore(path)


def test_threads_wait_beside_each_other(path):
    with FileStore(path, timeout=LONG) as store, ThreadPoolExecutor() as pool:
        waiting = [pool.submit(store.get, f"k{n}") for n in range(4)]
        for n in range(4):
            store.set(f"k{n}", str(n))
        assert [each.result(20) for each in waiting] == [b"0", b"1", b"2", b"3"]
