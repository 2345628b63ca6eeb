# SPDX-License-Identifier: Apache-2.0
"""railgauge nccl: the plugin loads into a process as NCCL loads it, and the report reads what it wrote."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import command, in_process, railgauge
from tests.cli.test_schemas import check
from tests.collectives.gains import RING_LL, WIDE_TREE, gains, row
from tests.patience import HANGS_AFTER_S
from tests.topo.jobs.recordings.writer import job, write

from railgauge.collectives.nccl_plugin import plugin_path
from railgauge.topo.jobs.recordings.job import read_job
from railgauge.topo.jobs.recordings.layout import Kind, RecordingLevel

PLAYER = str(Path(__file__).parents[2] / "topo/jobs/recordings/player.py")


def played(tmp_path, *arguments, level="net", options=(), rank=0):
    """A recording of the player under `nccl run`."""
    where = ("--record", str(tmp_path / "rec"), "--level", level, "--mib", "1", *options)
    done = railgauge("nccl", "run", *where, "--", sys.executable, PLAYER, *map(str, arguments), RANK=str(rank))
    assert done.returncode == 0, done.stderr
    return read_job([str(tmp_path / "rec")])


@pytest.mark.parametrize("api", range(1, 7))
def test_each_version_of_the_plugin_records_what_is_played(tmp_path, api):
    job = played(tmp_path, api, 1, 2, 3)
    (recording,) = job.recordings
    assert (recording.profiler, recording.level, recording.lost) == (api, RecordingLevel.NET, 0)
    (communicator,) = job.communicators
    assert (communicator.id, communicator.name) == ("0xabc", "tp")
    (operations,) = communicator.ranks.values()
    assert operations.rank == 1
    found = operations.collectives
    assert found["count"].tolist() == [1024, 1025, 1026]
    assert found["seq"].tolist() == [0, 1, 2]
    assert found["number"].tolist() == [1, 2, 3]
    one = found[0]
    columns = ("function", "dtype", "algorithm", "protocol")
    names = [recording.named(table, int(one[name])) for table, name in enumerate(columns)]
    assert names == ["AllReduce", "ncclFloat32", "RING", "LL128"]
    assert one["channels"] == 2
    assert one["seen"] == (2 if api > 2 else 0)
    if api > 3:
        assert (found["gpu_ended_ns"] - found["gpu_began_ns"]).tolist() == [5000] * 3
        assert communicator.size == 2
    kinds = recording.records["kind"].tolist()
    assert kinds.count(Kind.OPERATION) == kinds.count(Kind.STEP) == 3
    assert kinds.count(Kind.CALL) == (3 if api > 4 else 0)
    steps = recording.records[recording.records["kind"] == Kind.STEP]
    assert steps["b"].tolist() == [4096 if api > 3 else 0] * 3


@pytest.mark.parametrize(("level", "kinds"), [("call", {Kind.CALL}), ("op", {Kind.CALL, Kind.COLLECTIVE})])
def test_a_level_records_no_more_than_it_says(tmp_path, level, kinds):
    (recording,) = played(tmp_path, 5, 0, 2, 4, level=level).recordings
    assert set(recording.records["kind"].tolist()) == kinds


def test_gpu_timers_are_switched_on_for_every_nth_collective(tmp_path):
    (recording,) = played(tmp_path, 6, 0, 2, 12, level="channel", options=("--every", "4")).recordings
    (operations,) = read_job([recording.path]).communicators[0].ranks.values()
    timed = operations.collectives[operations.collectives["seen"] > 0]
    assert timed["number"].tolist() == [1, 4, 8, 12]


def test_a_killed_rank_is_read_and_explains_a_hang(tmp_path):
    folder = tmp_path / "rec"
    for rank, how in ((0, "hang"), (1, "")):
        run = command("nccl", "run", "--record", str(folder), "--level", "channel", "--mib", "1", "--", sys.executable)
        process = subprocess.Popen([*run, PLAYER, "6", str(rank), "2", "5", how], stdout=subprocess.PIPE, text=True)
        if how:
            assert [process.stdout.readline() for _ in range(2)][1] == "hangs\n"
            process.send_signal(signal.SIGKILL)
        process.wait(HANGS_AFTER_S)
        process.stdout.close()
    done = in_process("log", "hang", str(folder), "--json")
    found = json.loads(done.stdout)
    assert found["stuck"]
    (track,) = [one for one in found["communicators"][0]["lanes"][0]["tracks"] if one["rank"] == 0]
    assert (track["called"], track["over"], track["operation"]["state"]) == (6, 5, "started")


def test_a_full_disk_costs_the_recording_and_not_the_job(tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [sys.executable, PLAYER, "5", "0", "2", "3"],
        env={
            **os.environ,
            "NCCL_PROFILER_PLUGIN": plugin_path(),
            "RAILGAUGE_NCCL_RECORD": str(tmp_path / "file" / "no"),
        },
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "init 2\n")


def test_the_plugin_needs_libc_alone():
    if not shutil.which("readelf"):
        pytest.skip("no readelf")
    told = subprocess.run(["readelf", "-dW", plugin_path()], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"NEEDED.*\[(.*)\]", told)) <= {"libc.so.6", "ld-linux-aarch64.so.1"}
    assert "NODELETE" in told


def test_env_prints_what_a_shell_evaluates(tmp_path):
    folder = tmp_path / "a b;$(x)"
    printed = in_process("nccl", "env", "--record", str(folder), "--level", "channel", "--every", "8").stdout
    shown = subprocess.run(
        ["sh", "-c", f'{printed}\necho "$RAILGAUGE_NCCL_RECORD|$RAILGAUGE_NCCL_EVERY|$LD_LIBRARY_PATH"'],
        env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": "/before"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert shown == f"{folder}|8|{os.path.dirname(plugin_path())}:/before"
    assert in_process("nccl", "env", "--path").stdout.strip() == plugin_path()


LOADED = """
import ctypes, os, sys
plugins = [os.environ.get(f"NCCL_{name}_PLUGIN") for name in ("TUNER", "PROFILER", "ENV")]
library = ctypes.CDLL(plugins[0])  # by its name, as NCCL loads it
print(plugins, all(hasattr(library, f"ncclTunerPlugin_v{api}") for api in range(2, 7)))
print(os.environ["RAILGAUGE_NCCL_TUNE"])
"""


def written(folder, name="gains.json", **more):
    """The path of a table with a gain at 2 MiB."""
    path = folder / name
    path.write_text(json.dumps(gains(row(2 << 20, RING_LL), **more)))
    return path


def test_a_job_gets_tables_with_or_without_a_recording(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = written(tmp_path, "other.json", collective="broadcast")
    name = "librailgauge-nccl-plugin.so"
    tables = ("--tune", str(written(tmp_path)), "--tune", other.name)
    for record, plugins in (((), [name, None, None]), (("--record", "rec"), [name] * 3)):
        done = railgauge("nccl", "run", *tables, *record, "--", sys.executable, "-c", LOADED)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{plugins} True\n{tmp_path}/gains.json:{other}\n"
        assert os.path.isdir("rec") == bool(record)


def test_env_prints_the_variables_of_a_table(tmp_path):
    folder = tmp_path / "a b;$(x)"
    folder.mkdir()
    printed = in_process("nccl", "env", "--tune", str(written(folder))).stdout
    assert "RECORD" not in printed
    assert "PROFILER" not in printed
    script = f'{printed}\necho "$NCCL_TUNER_PLUGIN|$RAILGAUGE_NCCL_TUNE|$LD_LIBRARY_PATH"'
    shown = subprocess.run(["sh", "-c", script], env={}, capture_output=True, text=True, check=True).stdout.strip()
    path = plugin_path()
    assert shown == f"{os.path.basename(path)}|{folder}/gains.json|{os.path.dirname(path)}"


@pytest.mark.parametrize(
    ("rows", "least", "remark"),
    [
        ([row(1024, RING_LL)], "", ""),
        ([row(1024), row(4096)], "", "no setting was faster at any size"),
        ([row(1024, RING_LL), row(2 << 20, WIDE_TREE)], "", "at 2 MiB takes up to 48 channels, NCCL by itself 24"),
        ([row(2 << 20, WIDE_TREE)], "32", "NCCL_MIN_NCHANNELS=48 only"),
        ([row(2 << 20, WIDE_TREE)], "48", ""),
        ([row(2 << 20, WIDE_TREE, channels=48)], "", ""),
    ],
)
def test_what_a_table_needs_is_said_before_the_job(tmp_path, rows, least, remark):
    path = written(tmp_path, rows=rows)
    done = in_process("nccl", "env", "--tune", str(path), NCCL_MIN_NCHANNELS=least)
    assert done.returncode == 0
    assert "RAILGAUGE_NCCL_TUNE" in done.stdout
    assert remark in done.stderr
    assert bool(remark) is bool(done.stderr)


def test_what_a_job_had_before_and_what_decides_is_said(tmp_path):
    one, other = written(tmp_path), written(tmp_path, "other.json")
    done = in_process("nccl", "env", "--tune", str(one), "--tune", str(other), NCCL_TUNER_PLUGIN="libnccl-ofi-tuner.so")
    assert "several tables of all_reduce on 2 ranks, 1 nodes: the first that fits" in done.stderr
    assert "NCCL_TUNER_PLUGIN=libnccl-ofi-tuner.so is replaced by librailgauge-nccl-plugin.so" in done.stderr


@pytest.mark.parametrize(
    ("text", "status", "word"),
    [
        ("{", 5, "not JSON"),
        ('{"schema": "railgauge/run/1"}', 5, "not a table of NCCL's settings (railgauge/nccl-tuning/1)"),
        (json.dumps(gains(rows=[{"bytes": 1, "channels": 2}])), 5, "measure again"),
        (json.dumps(gains(row(1024), gpus=[])), 5, "measure again"),
        (json.dumps(gains(rows=[None])), 5, "from byte"),
        (json.dumps(gains(row("x", WIDE_TREE))), 5, "from byte"),
        (json.dumps(gains(row(4096), row(1024))), 5, "not in order"),
        (json.dumps(gains(row(1024), collective="sendrecv")), 5, "of no collective"),
        (json.dumps(gains(row(1024, RING_LL | {"algorithm": "magic"}))), 5, "that NCCL has not"),
    ],
)
def test_what_is_no_table_ends_it_before_the_job(tmp_path, text, status, word):
    (tmp_path / "gains.json").write_text(text)
    done = in_process("nccl", "run", "--tune", str(tmp_path / "gains.json"), "--", "true")
    assert (done.returncode, done.stdout) == (status, "")
    assert word in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (("nccl", "env"), 2, "--record DIR"),
        (("nccl", "run", "--", "true"), 2, "--tune FILE"),
        (("nccl", "env", "--tune", "a:b.json"), 2, "rename it"),
        (("nccl", "env", "--tune", "{}/none.json"), 5, "none.json"),
        (("nccl", "env", "--tune", "-"), 2, "name a file"),
        (("nccl", "env", "--tune", "/dev/stdin"), 2, "name a file"),
        (("nccl", "env", *["--tune", "{}/none.json"] * 17), 2, "up to 16 tables"),
        (("nccl", "run", "--record", "{}/rec", "--", "no-such-command"), 3, "cannot run no-such-command"),
        (("nccl", "run", "--record", "/dev/null/x", "--", "true"), 3, "cannot make the folder"),
        (("nccl", "report", "{}"), 5, "a folder without files"),
        (("nccl", "report", "/nowhere"), 5, "cannot read"),
        (("nccl", "report", "{}", "-o", "x.pdf"), 2, "the suffix selects the format"),
        (("nccl", "report", "{}", "--follow", "0.1"), 2, "give 1 to 86400 s"),
        (("nccl", "report", "{}", "--follow", "nan"), 2, "--follow nan"),
        (("nccl", "report", "{}", "--follow", "inf"), 2, "--follow inf"),
        (("nccl", "env", "--record", "/dev/null"), 3, "/dev/null is not a folder"),
        (("nccl", "run", "--record", "/dev/null", "--", "true"), 3, "/dev/null is not a folder"),
        (("nccl", "run", "python3", "-c", "1"), 2, "no such option '-c'; put -- before COMMAND"),
        (("nccl", "run", "--recrod", "x", "--", "true"), 2, "did you mean --record; try"),
        (("tune", "nccl", "all_reduce", "-g", "2"), 2, "no such option '-g'; put -- before OPTION"),
        (("nccl", "report", "{}", "--save-capture", "x.tar.gz"), 2, "requires --from"),
    ],
)
def test_errors_say_what_to_do(tmp_path, arguments, status, word):
    done = in_process(*(text.format(tmp_path) for text in arguments))
    assert done.returncode == status
    assert word in done.stderr


def test_a_folder_where_nothing_can_be_written_is_refused_before_the_job(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: not (mode & os.W_OK and str(path) == str(tmp_path)))
    done = in_process("nccl", "run", "--record", str(tmp_path), "--", "true")
    assert done.returncode == 3
    assert "may not write there" in done.stderr


def test_follow_waits_for_the_first_recording(tmp_path, monkeypatch):
    (tmp_path / "rec").mkdir()
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 2:
            write(job(size=2), tmp_path / "rec")

    monkeypatch.setattr("time.sleep", sleep)
    done = in_process("nccl", "report", str(tmp_path / "rec"), "--follow", "2")
    assert slept == [2.0, 2.0]
    assert done.stderr.count("a folder without files: waiting for the first recording") == 1
    assert "2 ranks" in done.stdout
    assert in_process("nccl", "report", "/nowhere", "--follow", "2").returncode == 5


def test_the_report_is_written_in_every_format(tmp_path):
    files = write(job(size=3, late=1), tmp_path)
    for name, word in (
        ("r.html", "rank-late"),
        ("r.prom", 'railgauge_nccl_lateness_seconds{communicator="0xc0ffee",rank="1"'),
        ("r.svg", "<svg"),
        ("r.perfetto.json", '"traceEvents"'),
        ("r.json", '"railgauge/nccl-report/1"'),
    ):
        assert in_process("nccl", "report", *files, "-o", str(tmp_path / name)).returncode == 1
        assert word in (tmp_path / name).read_text()
    assert (tmp_path / "r.prom").read_text().endswith("# EOF\n")
    events = json.loads((tmp_path / "r.perfetto.json").read_text())["traceEvents"]
    assert len([one for one in events if one["ph"] == "X"]) == 3 * 20 * 4
    assert {one["args"]["name"] for one in events if one["name"] == "process_name"} == {
        f"rank {rank}, node1 process {100 + rank}" for rank in range(3)
    }


@pytest.mark.parametrize("machine", [(), ("--from", "@h200x4")])
def test_the_document_is_as_its_schema_says(tmp_path, machine):
    write(job(size=4, late=1), tmp_path)
    check("nccl-report", json.loads(in_process("nccl", "report", str(tmp_path), "--json", *machine).stdout))


def test_log_explain_reports_recordings(tmp_path):
    write(job(late=1), tmp_path)
    done = in_process("log", "explain", str(tmp_path))
    assert done.returncode == 1
    assert "the others wait for rank 1 (node1 process 101)" in done.stdout


def test_hostile_names_stay_on_their_line(tmp_path):
    files = job(late=1, host="n\x1b[31m\n<b>")
    paths = []
    for file in files:
        paths.append(tmp_path / f"{file.rank}.nccl")
        paths[-1].write_bytes(file.data())
    shown = in_process("nccl", "report", *map(str, paths)).stdout
    assert "\x1b" not in shown
    page = tmp_path / "r.html"
    in_process("nccl", "report", *map(str, paths), "-o", str(page))
    assert "<b>" not in page.read_text()
