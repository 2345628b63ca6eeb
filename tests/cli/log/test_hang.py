# SPDX-License-Identifier: Apache-2.0
"""`railgauge log hang`: who is missing, on stdout and as exit status."""

import json

from tests.cli.command import in_process, run
from tests.topo.jobs.hang import ras
from tests.topo.jobs.hang.fake_ras import FakeRas
from tests.topo.jobs.hang.reading import dump, up_to, write_dumps

DUMPS = {rank: dump(up_to(41, waits=41)) for rank in range(7)} | {7: dump(up_to(40))}


def test_the_missing_rank_is_named_first(tmp_path):
    result = in_process("log", "hang", str(write_dumps(tmp_path, DUMPS)))
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.startswith(
        "FAIL rank-behind: rank 7 has not entered all_reduce #41 (process group 0 (default_pg), "
    )
    assert (
        "\n  ranks 0-6  in all_reduce #41 of 1024 Float, scheduled\n  rank 7     out of all_reduce #40" in result.stdout
    )


def test_nothing_that_hangs_is_status_0(tmp_path):
    result = in_process("log", "hang", str(write_dumps(tmp_path, {rank: dump(up_to(41)) for rank in range(8)})))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("nothing hangs: all operations of 1 communicator are over")


def test_too_little_is_unknown(tmp_path):
    write_dumps(tmp_path, {0: DUMPS[0]})
    result = in_process("log", "hang", str(tmp_path))
    assert result.returncode == 1, "a rank waits: whoever is at fault, the job is stuck"
    assert result.stdout.startswith("UNKNOWN evidence-short")
    assert "TORCH_NCCL_DUMP_ON_TIMEOUT=1" in result.stdout


def test_what_cannot_be_read_is_bad_input(tmp_path):
    (tmp_path / "file").write_text("loss 2.3\n")
    result = in_process("log", "hang", str(tmp_path / "file"))
    assert (result.returncode, result.stdout) == (5, "")
    assert "file: no data of a stuck job: give flight records" in result.stderr
    assert in_process("log", "hang", str(tmp_path / "none")).returncode == 5
    assert in_process("log", "hang").returncode == 2


def test_a_run_that_hangs(tmp_path):
    path = str(tmp_path / "record.json")
    run("--ranks", "2", "-b", "8", "-e", "8", "-T", "10", "--fault", "stall", "--record", path)
    result = in_process("log", "hang", path, "--json")
    findings = json.loads(result.stdout)["findings"]
    assert result.returncode == 1
    assert findings[0]["id"] in ("rank-behind", "rank-missing", "operation-stuck")


def test_a_live_job_that_stands():
    ranks = [ras.json_rank(rank, {"AllReduce": 41 if rank != 7 else 40}) for rank in range(8)]
    report = json.dumps(ras.json_report(ranks))
    with FakeRas(report, report) as fake:
        result = in_process("log", "hang", "--ras", f"127.0.0.1:{fake.port}", "--again", "0.1")
    assert result.returncode == 1
    assert "rank 7 has not entered AllReduce #41 (communicator 0xc0ffee01, 8 ranks on 2 nodes)" in result.stdout


def test_a_live_job_that_goes_on():
    reports = [
        json.dumps(ras.json_report([ras.json_rank(rank, {"AllReduce": at - (rank == 7)}) for rank in range(8)]))
        for at in (41, 44)
    ]
    with FakeRas(*reports) as fake:
        result = in_process("log", "hang", "--ras", f"127.0.0.1:{fake.port}", "--again", "0.1")
    assert (result.returncode, result.stderr) == (0, "")


def test_no_ras_is_status_3():
    result = in_process("log", "hang", "--ras", "127.0.0.1:1")
    assert (result.returncode, result.stdout) == (3, "")
    assert "RAS does not answer at 127.0.0.1:1" in result.stderr
    assert in_process("log", "hang", "--ras", "[::1").returncode == 2
