# SPDX-License-Identifier: Apache-2.0
"""`run --engine nccl` on fake GPUs, by a fake libnccl that writes down how it is called (fake_nccl.cc)."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.gpu import fake_gpus

from railgauge.cli.tune.nccl import NcclRuns
from railgauge.collectives.nccl_sweep import NcclWay
from railgauge.topo.errors import UnavailableError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Protocol

SOURCE = Path(__file__).parent / "fake_nccl.cc"
NEW, WITHOUT_ALLTOALL, WITHOUT_WINDOWS, WITHOUT_REGISTERING, TOO_OLD = 22809, 22702, 22505, 21805, 21000
FLOAT, FLOAT8, INT64, HALF = 7, 10, 4, 6  # ncclDataType_t
MOVED = re.compile(r"(\d) (nccl\w+) (\w+) (\w+) count (\d+) type (\d+) op (-?\d+) with (-?\d+)")
TIMEOUT_S = 60


class Call(NamedTuple):
    """One call that would move data; `op` and `other` (a root or peer) are -1 where there is none."""

    rank: int
    name: str
    source: int
    destination: int
    count: int
    type: int
    op: int
    other: int


class Nccl:
    """Runs the command with fake libraries, two ranks as threads of one process."""

    def __init__(self, libcuda: Path, built: Path, folder: Path) -> None:
        self._libcuda, self._built = libcuda, built
        self.calls_file = folder / "calls"

    def library(self, version: int) -> Path:
        """The libnccl of that release."""
        path = self._built / str(version) / "libnccl.so.2"
        if not path.exists():
            path.parent.mkdir()
            fake_gpus.compile_to(path, f"-DFAKE_NCCL_VERSION={version}", str(SOURCE))
        return path

    def run(self, version: int, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """`railgauge run ... --engine nccl`, one timed operation and one ahead of it."""
        return self._run(version, *arguments, "-b", "64", "-e", "64", "-n", "1", **environment)

    def replay(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The same with the operations of a trace, each once."""
        return self._run(NEW, *arguments)

    def _run(self, version: int, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        gpus = fake_gpus.environment(self._libcuda, 2)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "FAKE_"))}
        files = {"RAILGAUGE_NCCL_LIBRARY": str(self.library(version)), "FAKE_NCCL_CALLS": str(self.calls_file)}
        flags = ["--engine", "nccl", "-g", "2", "-w", "0", "--json"]
        checks = [] if "-c" in arguments else ["-c", "0"]
        command = [sys.executable, "-P", "-m", "railgauge", "run", *arguments, *checks, *flags]
        return subprocess.run(
            command, env=clean | gpus | files | environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )

    @property
    def lines(self) -> list[str]:
        """What was called, as it was written down."""
        return self.calls_file.read_text().splitlines()

    def moved(self, rank: int) -> list[Call]:
        """A rank's calls that would move data."""
        found = [
            Call(int(m[1]), m[2], int(m[3], 16), int(m[4], 16), *map(int, m.groups()[4:]))
            for m in filter(None, map(MOVED.match, self.lines))
        ]
        return [call for call in found if call.rank == rank]


@pytest.fixture(scope="session")
def libcuda() -> Path:
    if shutil.which(fake_gpus.COMPILER[0]) is None:
        pytest.skip(f"no {fake_gpus.COMPILER[0]} to build fake libraries with")
    return fake_gpus.libraries()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("nccl")


@pytest.fixture
def nccl(libcuda: Path, built: Path, tmp_path: Path) -> Nccl:
    return Nccl(libcuda, built, tmp_path)


@pytest.mark.parametrize(
    ("collective", "name", "count", "op", "root"),
    [
        ("all_reduce", "ncclAllReduce", 16, 2, -1),
        ("all_gather", "ncclAllGather", 8, -1, -1),
        ("reduce_scatter", "ncclReduceScatter", 8, 2, -1),
        ("broadcast", "ncclBroadcast", 16, -1, 1),
        ("reduce", "ncclReduce", 16, 2, 1),
        ("alltoall", "ncclAlltoAll", 8, -1, -1),
        ("gather", "ncclGather", 8, -1, 1),
        ("scatter", "ncclScatter", 8, -1, 1),
    ],
)
def test_each_collective_is_nccls_own(nccl, collective, name, count, op, root):
    ran = nccl.run(NEW, collective, "-r", "1", "-o", "max")
    assert ran.returncode == 0, ran.stderr
    for rank in range(2):
        calls = nccl.moved(rank)
        assert [(c.name, c.count, c.type, c.op, c.other) for c in calls] == 4 * [(name, count, FLOAT, op, root)]
        apart, in_place = calls[:2], calls[2:]
        assert {c.source == c.destination for c in apart} == {False}
        if collective in ("all_reduce", "broadcast", "reduce"):
            assert {c.source == c.destination for c in in_place} == {True}
        if collective == "all_gather":
            assert {c.source - c.destination for c in in_place} == {rank * 32}
        if collective == "reduce_scatter":
            assert {c.destination - c.source for c in in_place} == {rank * 32}


@pytest.mark.parametrize(
    ("collective", "root_calls", "other_calls"),
    [
        ("alltoall", "S0+0 R0+0 S1+32 R1+32", "S0+0 R0+0 S1+32 R1+32"),
        ("gather", "S1+0 R0+0 R1+32", "S1+0"),
        ("scatter", "S0+0 S1+32 R1+0", "R1+0"),
        ("sendrecv", "S0+0 R0+0", "S1+0 R1+0"),
    ],
)
def test_releases_without_a_function_get_sends_and_receives(nccl, collective, root_calls, other_calls):
    ran = nccl.run(WITHOUT_ALLTOALL, collective, "-r", "1")
    assert ran.returncode == 0, ran.stderr
    for rank, wanted in ((1, root_calls), (0, other_calls)):
        calls = nccl.moved(rank)
        once = calls[: len(calls) // 4]
        starts = {
            name: next((c.source or c.destination for c in once if c.name == name), 0)
            for name in ("ncclSend", "ncclRecv")
        }
        shown = [f"{c.name[4]}{c.other}+{(c.source or c.destination) - starts[c.name]}" for c in once]
        assert " ".join(shown) == wanted
        assert {c.count for c in calls} == {16 if collective == "sendrecv" else 8}
    assert nccl.lines.count("- ncclGroupStart") == nccl.lines.count("- ncclGroupEnd") == 8


def test_the_document_has_what_nccl_told(nccl, tmp_path):
    topology = tmp_path / "topo.xml"
    topology.write_text("<system/>")
    graph = tmp_path / "graph.xml"
    graph.write_text("<graphs/>")
    ran = nccl.run(NEW, "all_reduce", "--graph", str(graph), "--expect-transport", "P2P", NCCL_TOPO_FILE=str(topology))
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert (document["engine"], document["device"], document["status"]) == ("nccl", "cuda", "ok")
    loaded = {"graph_rings": 5, "graph_trees": 5, "topology_files": [str(topology)]}
    assert document["nccl"] == {"version": "2.28.9", "channels": 2, "gpus": ["fake GPU"]} | loaded
    unknown = {"planned": None, "bytes_sent": None, "bytes_received": None}
    assert document["connections"] == [
        {"channel": channel, "from": rank, "to": 1 - rank, "via": "P2P/CUMEM"} | unknown
        for channel in range(2)
        for rank in range(2)
    ]
    (row,) = document["rows"]
    assert (row["algorithm"], row["protocol"], row["channels"]) == (None, None, None)


def test_connections_are_held_against_what_is_expected(nccl):
    setting = {"NCCL_NTHREADS": "128"}  # without effect on host memory, which is no matter here
    other = nccl.run(NEW, "all_reduce", "--expect-transport", "NET/IB", **setting)
    assert (other.returncode, "went via P2P/CUMEM, expected NET/IB" in other.stderr) == (4, True)
    assert "no effect" not in other.stderr


def test_who_asks_for_tuning_gets_algorithm_and_protocol(nccl):
    ran = nccl.run(NEW, "all_reduce", NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,TUNING")
    (row,) = json.loads(ran.stdout)["rows"]
    assert (row["algorithm"], row["protocol"], row["channels"]) == ("ring", "ll128", 4)
    assert "NCCL INFO 2 coll channels" in ran.stderr  # what NCCL would have written to stdout


def test_a_setting_of_a_sweep_is_run_and_what_nccl_has_not_fails(nccl, libcuda, monkeypatch):
    gpus = fake_gpus.environment(libcuda, 2) | {"RAILGAUGE_NCCL_LIBRARY": str(nccl.library(NEW))}
    for name, value in gpus.items():
        monkeypatch.setenv(name, value)
    runs = NcclRuns(["run", "all_reduce", "--engine", "nccl", "-b", "64", "-e", "128", "-f", "2", "-c", "0", "-g", "2"])
    found = runs.measure(NcclWay(Algorithm.TREE, Protocol.LL, 2), logged=True)
    assert {size: one.chosen for size, one in found.items()} == dict.fromkeys((64, 128), ("tree", "ll", 2))
    assert (runs.last.ranks, runs.version, runs.gpus) == (2, "2.28.9", ["fake GPU"])
    with pytest.raises(UnavailableError, match="NCCL: fake error"):
        runs.measure(NcclWay(Algorithm.NVLS), logged=False)


def test_a_file_for_nccls_log_stays_the_users(nccl, tmp_path):
    path = tmp_path / "log"
    ran = nccl.run(NEW, "all_reduce", NCCL_DEBUG="INFO", NCCL_DEBUG_FILE=str(path))
    assert "2 coll channels" in path.read_text()
    assert "NCCL INFO" not in ran.stderr
    assert json.loads(ran.stdout)["nccl"]["channels"] == 2


def test_wrong_data_is_seen(nccl):
    ran = nccl.run(NEW, "all_reduce", "-c", "1")
    assert (ran.returncode, "elements wrong" in ran.stderr) == (4, True)


@pytest.mark.parametrize(
    ("level", "called"),
    [("1", "ncclCommRegister 64"), ("2", "ncclCommWindowRegister 64 flags 1")],
)
def test_buffers_are_registered_as_asked_for_and_let_go(nccl, level, called):
    ran = nccl.run(NEW, "all_reduce", "-R", level)
    assert ran.returncode == 0, ran.stderr
    for rank in range(2):
        assert nccl.lines.count(f"{rank} {called}") == 2
        of_rank = [line.split()[1] for line in nccl.lines if line.startswith(f"{rank} ")]
        undone = called.split()[0].replace("Register", "Deregister")
        assert of_rank[-3:] == [undone, undone, "ncclCommDestroy"]
    assert nccl.lines.count("- ncclMemFree") == nccl.lines.count("- ncclMemAlloc 64") == 4


def test_graphs_are_captured(nccl):
    ran = nccl.run(NEW, "all_reduce", "-G", "3")
    assert ran.returncode == 0, ran.stderr
    assert len(nccl.moved(0)) == 4  # each captured once


@pytest.mark.parametrize(
    ("version", "arguments", "why"),
    [
        (TOO_OLD, "", "this engine needs NCCL 2.10.3 or later, and "),
        (WITHOUT_REGISTERING, "-R 1", "registering buffers (-R 1) needs NCCL 2.19 or later, and "),
        (WITHOUT_WINDOWS, "-R 2", "symmetric memory (-R 2) needs NCCL 2.27 or later, and "),
        (WITHOUT_REGISTERING, "-d f8e4m3", "f8e4m3 needs NCCL 2.24 or later, and "),
    ],
)
def test_what_a_release_lacks_is_refused(nccl, version, arguments, why):
    ran = nccl.run(version, "all_reduce", *arguments.split())
    assert (ran.returncode, why in ran.stderr) == (3, True), ran.stderr
    assert json.loads(ran.stdout)["status"] == "failed"


def test_float8_runs_where_the_release_has_it(nccl):
    assert nccl.run(NEW, "all_reduce", "-d", "f8e4m3").returncode == 0
    assert {call.type for call in nccl.moved(0)} == {FLOAT8}


def test_no_library_is_status_3(nccl):
    ran = nccl.run(NEW, "all_reduce", RAILGAUGE_NCCL_LIBRARY="/nowhere/libnccl.so.2")
    assert (ran.returncode, "no NCCL: /nowhere/libnccl.so.2" in ran.stderr) == (3, True)


def test_another_library_is_no_nccl(nccl, libcuda):
    ran = nccl.run(NEW, "all_reduce", RAILGAUGE_NCCL_LIBRARY=str(libcuda / "libcuda.so.1"))
    assert (ran.returncode, "has no ncclGetVersion" in ran.stderr) == (3, True)


def test_no_gpu_is_status_3(nccl):
    ran = nccl.run(NEW, "all_reduce", CUDA_VISIBLE_DEVICES="")
    assert (ran.returncode, "--device cuda: " in ran.stderr) == (3, True), ran.stderr


REPLAYED = [
    {"comms": "init", "pg_id": 3, "global_ranks": [1, 0]},
    {"comms": "all_reduce", "in_msg_size": 16, "out_msg_size": 16, "dtype": "float", "pg_id": 0, "world_size": 2},
    {"comms": "broadcast", "in_msg_size": 9, "out_msg_size": 9, "dtype": "Long", "pg_id": 3, "root": 0},
    {"comms": "all_gather", "in_msg_size": 4, "out_msg_size": 8, "dtype": "Half", "pg_id": 0, "world_size": 2},
]


def test_a_trace_is_replayed_over_a_communicator_of_each_group(nccl, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(REPLAYED))
    ran = nccl.replay("--trace", str(path))
    assert ran.returncode == 0, ran.stderr
    for rank in range(2):
        assert [(c.name, c.count, c.type, c.other) for c in nccl.moved(rank)] == [
            ("ncclAllReduce", 16, FLOAT, -1),
            ("ncclBroadcast", 9, INT64, 1),
            ("ncclAllGather", 4, HALF, -1),
        ]
    made = [line for line in nccl.lines if "ncclCommInitRank" in line]
    assert len(made) == 4  # of all ranks, and of the group in another order
    assert [row["ranks"] for row in json.loads(ran.stdout)["replay"]] == [[0, 1], [1, 0], [0, 1]]


def test_wrong_data_of_a_replay_is_seen(nccl, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(REPLAYED))
    ran = nccl.replay("--trace", str(path), "-c", "1")
    assert (ran.returncode, "operation 1 of the trace, all_reduce" in ran.stderr) == (4, True)


def test_files_for_nccl_have_to_be_there(nccl):
    ran = nccl.run(NEW, "all_reduce", NCCL_TOPO_FILE="/nowhere/topo.xml")
    assert (ran.returncode, "/nowhere/topo.xml" in ran.stderr) == (5, True)


@pytest.mark.parametrize("function", ["ncclCommInitRank", "ncclAllReduce"])
def test_what_hangs_ends_by_the_timeout(nccl, function):
    ran = nccl.run(NEW, "all_reduce", "--timeout", "1", FAKE_NCCL_FAULT=f"{function}=hang")
    assert ran.returncode == 4, ran.stderr
    assert "within 1 s" in ran.stderr
    aborted = [line for line in nccl.lines if "ncclCommAbort" in line]
    assert len(aborted) == (2 if function == "ncclAllReduce" else 0)


def test_an_error_of_nccl_is_told(nccl):
    ran = nccl.run(NEW, "all_reduce", FAKE_NCCL_FAULT="ncclAllReduce=5")
    assert (ran.returncode, "starting all_reduce: NCCL: fake error" in ran.stderr) == (3, True)


@pytest.mark.parametrize("flags", ["--device cpu", "--tune"])
def test_what_nccl_does_not_have_is_a_usage_error(nccl, flags):
    ran = nccl.run(NEW, "all_reduce", *flags.split(), "-c", "1")
    assert (ran.returncode, "--engine nccl" in ran.stderr) == (2, True)
