# SPDX-License-Identifier: Apache-2.0
"""`railgauge log explain`: a flight record of a run, logs of NCCL, and files that are neither."""

import gzip
import json
import subprocess
import tarfile

import pytest
from tests.cli.command import clean_environment, command, in_process, run
from tests.patience import HANGS_AFTER_S

from railgauge.topo.jobs.logs import oddities

NO_GDR = "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n"
FULL_SHM = "a:1:1 [0] shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n"


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("run") / "record.json")
    assert run("--ranks", "2", "-b", "4K", "-e", "4K", "-n", "2", "--record", path).returncode == 0
    return path


def test_a_record_is_told_as_text(record):
    result = in_process("log", "explain", record)
    assert (result.returncode, result.stderr) == (0, "")
    assert "ended: as planned" in result.stdout
    assert "all_reduce of 1024 float, sum, by one-shot: ranks 0 and 1 done" in result.stdout


def test_as_json_it_is_what_was_written(record):
    result = in_process("log", "explain", record, "--json")
    assert result.returncode == 0
    with open(record, encoding="utf-8") as file:
        assert json.loads(result.stdout) == json.load(file)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "neither NCCL log lines nor a flight record: run the job with NCCL_DEBUG=INFO"),
        ("loss 2.3\n", "neither NCCL log lines"),
        ("\0\xff" * 99, "neither NCCL log lines"),
        ('{"schema": "railgauge/run/1"}', "its schema is not railgauge/record/1"),
        ('{"schema": ', "is not JSON"),
    ],
)
def test_another_file_is_bad_input(tmp_path, content, words):
    path = tmp_path / "file"
    path.write_text(content)
    result = in_process("log", "explain", str(path))
    assert (result.returncode, result.stdout) == (5, "")
    assert f"railgauge log: {path}: " in result.stderr
    assert words in result.stderr


def test_a_file_that_is_not_there_is_bad_input(tmp_path):
    result = in_process("log", "explain", str(tmp_path / "none"))
    assert result.returncode == 5
    assert "none: cannot read it: No such file or directory" in result.stderr


@pytest.mark.parametrize(
    ("content", "level", "status"),
    [(NO_GDR, "FAIL", 0), (NO_GDR, "WARN", 1), (FULL_SHM, "FAIL", 1), (FULL_SHM, "UNKNOWN", 1)],
)
def test_status_is_of_the_findings(tmp_path, content, level, status):
    path = tmp_path / "log.txt"
    path.write_text(content)
    result = in_process("log", "explain", str(path), "--fail-on", level)
    assert (result.returncode, result.stderr) == (status, "")


def test_a_log_from_stdin_has_its_verdict_on_top():
    result = subprocess.run(
        command("log", "explain", "-"),
        input=NO_GDR,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
    )
    assert result.stdout.startswith(
        "log: 1 node (a), ranks not logged, NCCL release not logged\n\n"
        "RDMA is used between nodes (sides of connections: NET/IB 1); GPUDirect RDMA is not used"
    )
    assert "channel 0: 0 -> 1 [send] via NET/IB/0, no GDR" in result.stdout
    assert "\nWARN peermem-missing: GPUDirect RDMA is not used on a" in result.stdout
    assert "\n    remedy: " in result.stdout
    assert result.stdout.endswith("\n1 WARN\n")


def test_a_log_without_findings_ends_with_what_it_says(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("a:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 1 cudaDev 0 - Init COMPLETE\n")
    shown = in_process("log", "explain", str(path)).stdout
    assert "nodes\n  a" in shown
    assert "no findings" not in shown


def test_logs_of_several_ranks_are_one(tmp_path):
    for host, rank in (("a", 0), ("b", 1)):
        (tmp_path / host).write_text(
            f"{host}:1:1 [0] NCCL INFO comm 0x1 rank {rank} nranks 2 cudaDev 0 - Init COMPLETE\n"
        )
    result = in_process("log", "explain", str(tmp_path / "a"), str(tmp_path / "b"), "--json")
    document = json.loads(result.stdout)
    assert [(one["rank"], one["node"]) for one in document["ranks"]] == [(0, "a"), (1, "b")]


def test_a_machine_beside_the_log(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(NO_GDR)
    result = in_process("log", "explain", str(path), "--from", "@dgx-h100")
    assert "what the topology allows\n  no GPU of the log is on that machine" in result.stdout


def test_json_of_a_container_is_no_flight_record(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text('{"log":"' + NO_GDR.strip() + '\\n","stream":"stdout"}\n')
    assert in_process("log", "explain", str(path)).stdout.splitlines()[2].startswith("RDMA is used")


LOOKS = ("errors", "sockets", "gpu_direct", "settings", "ports", "interfaces", "_channels", "_machine", "_outputs")


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_that_fails_by_itself_leaves_the_others_their_say(tmp_path, monkeypatch, look):
    path = tmp_path / "log.txt"
    path.write_text(NO_GDR + FULL_SHM)
    before = json.loads(in_process("log", "explain", str(path), "--json").stdout)
    monkeypatch.setattr(oddities, look, lambda *_: {}["colour"])
    result = in_process("log", "explain", str(path), "--json")
    found = json.loads(result.stdout)["findings"]
    assert (result.returncode, [one["level"] for one in found].count("UNKNOWN")) == (70, 1)
    assert "internal error of railgauge: unexpected KeyError: 'colour'" in result.stderr
    others = [one for one in found if one["level"] != "UNKNOWN"]
    assert others == [one for one in before["findings"] if one in others]
    assert others


def test_a_folder_of_a_job_is_sorted_out_by_content(tmp_path):
    job = tmp_path / "job"
    (job / "rank0").mkdir(parents=True)
    (job / "rank0" / "stderr").write_bytes(gzip.compress(NO_GDR.encode()))
    (job / "a.out").write_text(FULL_SHM)
    (job / "trace_0").write_bytes(b"\x80\x02}q\x00.")
    (job / "topo.xml").write_text('<system version="1"/>')
    (job / "core").write_bytes(b"\x7fELF\x00\x01")
    (job / "run.json").write_text('{"schema": "railgauge/findings/1"}')
    (job / "weights.gz").write_bytes(gzip.compress(b"x" * 9999)[:-9])
    for given in (str(job), f"{job}/*"):
        result = in_process("log", "explain", given, "--json")
        told = {one["id"] for one in json.loads(result.stdout)["findings"]}
        assert "shm-too-small" in told, told
        assert [json.loads(result.stdout)["connections"][0]["via"]] == ["NET/IB/0"]
        left_out = {"trace_0": "log hang", "topo.xml": "topo lint", "core": "not text", "run.json": "by itself"}
        lines = result.stderr.splitlines()
        assert all(any(name in line and word in line for line in lines) for name, word in left_out.items())
        assert any("weights.gz" in line and "read as far as it goes" in line for line in lines)


def test_a_packed_log_is_read(tmp_path):
    path = tmp_path / "job.log"
    path.write_bytes(gzip.compress(FULL_SHM.encode()))
    assert "shm-too-small" in in_process("log", "explain", str(path)).stdout


@pytest.mark.parametrize("inside", [False, True])
def test_an_archive_of_a_job_is_as_its_folder(tmp_path, inside):
    job = tmp_path / "job"
    job.mkdir()
    (job / "a.out.gz").write_bytes(gzip.compress(FULL_SHM.encode()))
    (job / "b.out").write_text(NO_GDR)
    (job / "trace_0").write_bytes(b"\x80\x02}q\x00.")
    folder = tmp_path / "given"
    folder.mkdir()
    with tarfile.open(folder / "job.tar.gz", "w:gz") as tar:
        tar.add(job, "job")
    given = str(folder) if inside else str(folder / "job.tar.gz")
    packed, plain = (in_process("log", "explain", name, "--json") for name in (given, str(job)))
    answers = [{**json.loads(answer.stdout), "time": None} for answer in (packed, plain)]
    assert answers[0] == answers[1]
    assert "job.tar.gz/job/trace_0: a flight record" in packed.stderr


def test_a_file_given_by_name_that_cannot_be_read_is_bad_input(tmp_path):
    (tmp_path / "a.log").write_text(FULL_SHM)
    result = in_process("log", "explain", str(tmp_path / "a.log"), str(tmp_path / "b.log"))
    assert result.returncode == 5


def test_several_from_are_one_machine(tmp_path):
    from tests.topo.facts.pasted import texts

    (tmp_path / "log").write_text(NO_GDR)
    names = {"smi": texts.TOPO_M, "ib": texts.IBSTAT}
    for name, text in names.items():
        (tmp_path / name).write_text(text)
    given = [part for name in names for part in ("--from", str(tmp_path / name))]
    assert in_process("log", "explain", str(tmp_path / "log"), *given).returncode in (0, 1)
