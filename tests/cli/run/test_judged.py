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
from railgauge.topo.nccl.settings.algorithm import Collective

H100 = machines.load_machine("@dgx-h100")
HEALTHY = curve_of(H100, 1, Collective.ALL_REDUCE)


FACTOR = Collective.ALL_REDUCE.factor(8)


def finished(capsys, monkeypatch, share, *, machine=H100, as_json=False, **fields):
    """What stdout has of a run that reached a share of the forecast."""
    monkeypatch.setattr(machines, "load_machine", lambda *_, **__: machine)
    ways = [(size, timing(size, size * FACTOR / (share * by) / 1e3, FACTOR)) for size, by in HEALTHY.items()]
    rows = [row(size, out_of_place=way, in_place=way) for size, way in ways]
    document = replace(result(*rows), **{"device": "cuda", "ranks": 8, "nodes": 1} | fields)
    assert RunOutput(replace(JOB, json=as_json), (), leads=True).finish(document, None) == 0
    return capsys.readouterr().out


def test_a_slow_run_says_so_below_its_table(capsys, monkeypatch):
    out = finished(capsys, monkeypatch, 0.5)
    assert "# WARN number-low: " in out
    assert "50% of the forecast" in out
    (line,) = (line for line in out.splitlines() if line.startswith("# reached "))
    assert "; forecast " in line
    assert "; bound " in line


def test_a_good_run_has_the_figures_and_no_finding(capsys, monkeypatch):
    out = finished(capsys, monkeypatch, 0.95)
    assert "# reached " in out
    assert "number-low" not in out


def test_the_document_has_the_verdict(capsys, monkeypatch):
    found = json.loads(finished(capsys, monkeypatch, 0.5, as_json=True))["judged"]
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
