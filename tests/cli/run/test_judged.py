# SPDX-License-Identifier: Apache-2.0
"""A run between GPUs is judged beside the forecast of its machine, in its table and in its document."""

import json
from dataclasses import replace

import pytest
from tests.collectives.report.test_nccl_tests import JOB
from tests.collectives.results import result, row, timing
from tests.topo.jobs.judge.made import curve_of

from railgauge.cli.run.output import RunOutput
from railgauge.collectives.engine import Engine
from railgauge.topo import machine as machines
from railgauge.topo.findings.finding import Level
from railgauge.topo.nccl.settings.algorithm import Collective

H100 = machines.load_machine("@dgx-h100")
HEALTHY = curve_of(H100, 1, Collective.ALL_REDUCE)


FACTOR = Collective.ALL_REDUCE.factor(8)


def finished(
    capsys, monkeypatch, share, *, machine=H100, as_json=False, fail_on=Level.WARN, status=0, iterations=20, **fields
):
    """What stdout has of a run that reached a share of the forecast, and ended with a status."""
    monkeypatch.setattr(machines, "load_machine", lambda *_, **__: machine)
    ways = [(size, timing(size, size * FACTOR / (share * by) / 1e3, FACTOR)) for size, by in HEALTHY.items()]
    rows = [row(size, out_of_place=way, in_place=way) for size, way in ways]
    document = replace(result(*rows), **{"device": "cuda", "ranks": 8, "nodes": 1} | fields)
    assert (
        RunOutput(replace(JOB, json=as_json, iterations=iterations, warmup=1), (), leads=True, fail_on=fail_on).finish(
            document, None
        )
        == status
    )
    return capsys.readouterr().out


def test_a_slow_run_says_so_below_its_table(capsys, monkeypatch):
    out = finished(capsys, monkeypatch, 0.5, status=1)
    assert "# WARN number-low: " in out
    assert "50% of the forecast" in out
    (line,) = (line for line in out.splitlines() if line.startswith("# reached "))
    assert "; forecast " in line
    assert "; bound " in line


def test_a_good_run_has_the_figures_and_no_finding(capsys, monkeypatch):
    out = finished(capsys, monkeypatch, 0.95)
    assert "# reached " in out
    assert "number-low" not in out


@pytest.mark.parametrize(("share", "fail_on", "status"), [(0.5, Level.FAIL, 0), (0.2, Level.FAIL, 1)])
def test_the_level_that_fails_a_run_is_chosen(capsys, monkeypatch, share, fail_on, status):
    assert "number-low" in finished(capsys, monkeypatch, share, fail_on=fail_on, status=status)


def test_few_repetitions_were_asked_for_and_fail_no_run(capsys, monkeypatch):
    out = finished(capsys, monkeypatch, 0.5, iterations=1)
    assert "number-low" in out
    assert "too-few-iterations" in out


def test_the_document_has_the_verdict(capsys, monkeypatch):
    found = json.loads(finished(capsys, monkeypatch, 0.5, as_json=True, status=1))["judged"]
    assert [one["id"] for one in found["findings"] if one["level"] == "WARN"] == ["number-low"]
    assert found["tables"][0]["forecast_gb_per_s"] > found["tables"][0]["reached_gb_per_s"]


def test_nccl_on_symmetric_windows_has_the_forecast_of_those(capsys, monkeypatch):
    def forecast_of(**job):
        monkeypatch.setattr("tests.cli.run.test_judged.JOB", replace(JOB, **job))
        out = finished(capsys, monkeypatch, 0.95, as_json=True)
        return json.loads(out)["judged"]["tables"][0]["forecast_gb_per_s"]

    plain, own = forecast_of(engine=Engine.NCCL), forecast_of(engine=Engine.RAILGAUGE, register=2)
    assert plain == own != forecast_of(engine=Engine.NCCL, register=2)


@pytest.mark.parametrize("fields", [{"device": "cpu"}, {"ranks": 1}])
def test_what_no_forecast_is_for_is_not_judged(capsys, monkeypatch, fields):
    assert "# reached " not in finished(capsys, monkeypatch, 0.5, **fields)


def test_a_machine_that_shows_no_gpus_is_no_judge(capsys, monkeypatch):
    out = finished(capsys, monkeypatch, 0.5, machine=machines.load_machine("@intel-2s"))
    assert "# UNKNOWN number-low: no forecast to compare with: the machine has no GPUs" in out
