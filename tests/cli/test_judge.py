# SPDX-License-Identifier: Apache-2.0
"""`railgauge judge`, and the tables that `log explain` finds in a job's log."""

import json

import pytest
from tests.cli.command import in_process
from tests.topo.jobs.judge.made import as_nccl_tests, curve_of

from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.settings.algorithm import Collective


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """What nccl-tests prints on eight H100: as forecast, and with a share of it."""
    folder, machine = tmp_path_factory.mktemp("tables"), load_machine("@dgx-h100")
    for name, share, gpu in (
        ("good", 0.95, "NVIDIA H100 80GB HBM3"),
        ("low", 0.5, "NVIDIA H100 80GB HBM3"),
        ("unknown", 0.5, "NVIDIA A100 80GB PCIe"),
    ):
        curve = curve_of(machine, 1, Collective.ALL_REDUCE, share=share)
        (folder / f"{name}.txt").write_text(as_nccl_tests(curve, Collective.ALL_REDUCE, 8, gpu))
    return folder


def judged(path, *more):
    result = in_process("judge", str(path), *more, "--json")
    document = json.loads(result.stdout)
    return result.returncode, document["tables"], {one["id"]: one["level"] for one in document["findings"]}


@pytest.mark.parametrize("beside", [(), ("--from", "@dgx-h100")])
def test_a_good_number_passes_and_a_low_one_does_not(tables, beside):
    assert judged(tables / "good.txt", *beside)[::2] == (0, {"number-low": "PASS"})
    status, (table,), findings = judged(tables / "low.txt", *beside)
    assert (status, findings["number-low"]) == (1, "WARN")
    assert table["reached_gb_per_s"] == pytest.approx(0.5 * table["forecast_gb_per_s"], rel=0.01)
    assert table["bound_gb_per_s"] >= table["forecast_gb_per_s"]
    assert table["departs"][-1] == 8 << 30
    assert in_process("judge", str(tables / "low.txt"), "--fail-on", "FAIL").returncode == 0


def test_a_machine_that_is_not_known_is_asked_for_and_not_guessed(tables):
    result = in_process("judge", str(tables / "unknown.txt"))
    assert result.returncode == 0
    assert "8 x NVIDIA A100 80GB PCIe come in several machines: name it with --from" in result.stdout
    assert "forecast" not in result.stdout.splitlines()[1]


def test_this_machine_is_a_machine_to_compare_with(tables):
    result = in_process("judge", str(tables / "unknown.txt"), "--from", "live")
    assert "name it with --from" not in result.stdout
    assert "number-low" in result.stdout


def test_log_explain_judges_the_table_in_a_log(tables, tmp_path):
    log = tmp_path / "job.log"
    line = "gpu1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
    log.write_text(line + (tables / "low.txt").read_text())
    result = in_process("log", "explain", str(log), "--json")
    document = json.loads(result.stdout)
    assert result.returncode == 1
    assert "number-low" in {one["id"] for one in document["findings"]}
    assert document["tables"] == judged(tables / "low.txt")[1] or document["tables"][0]["line"] == 2
    assert in_process("log", "explain", str(tables / "good.txt")).returncode == 0


def test_the_picture_marks_what_departs(tables, tmp_path):
    for name, marks in (("low", True), ("good", False)):
        path = tmp_path / f"{name}.svg"
        in_process("judge", str(tables / f"{name}.txt"), "-o", str(path))
        assert ('class="point departs"' in path.read_text()) is marks
    assert in_process("judge", str(tables / "low.txt"), "-o", "judged.png").returncode == 2


def test_symmetric_windows_have_a_forecast_of_their_own(tables):
    (plain,), (windows,) = (judged(tables / "good.txt", *more)[1] for more in ((), ("-R", "2")))
    assert plain["forecast_gb_per_s"] != windows["forecast_gb_per_s"]
    assert judged(tables / "good.txt", "-R", "1")[1] == [plain]
    found = [in_process("graph", "predict", "--from", "@h200x4", "--json", "-b", "1G", "-R", how) for how in "02"]
    documents = [json.loads(one.stdout) for one in found]
    assert [one["symmetric"] for one in documents] == [False, True]
    assert documents[1]["rows"][0]["algorithm"] == "nvls"


def test_a_file_without_a_table_is_bad_input(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("nothing was measured\n")
    result = in_process("judge", str(path))
    assert result.returncode == 5
    assert "no table of nccl-tests" in result.stderr
