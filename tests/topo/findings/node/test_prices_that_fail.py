# SPDX-License-Identifier: Apache-2.0
"""An error of railgauge itself in a price leaves the finding: its level decides the exit status, its price is unknown
with the reason, and stderr names the error once.
"""

import json

import pytest
from tests.cli.command import in_process
from tests.topo.findings.node.cases import case

from railgauge.topo.findings.node import effect, rules
from railgauge.topo.findings.node.baseline import Baseline
from railgauge.topo.findings.settings.judgement import judge

ERROR = "internal error of railgauge: unexpected KeyError: 'colour'"


@pytest.fixture
def no_price(monkeypatch):
    """What predicts for prices fails by itself."""

    def forecast(*_):
        raise KeyError("colour")

    monkeypatch.setattr(effect, "_forecast", forecast)


@pytest.mark.parametrize(
    ("machine", "name", "level"),
    [
        ("dgx-h100-nic-x8", "pcie-link-degraded", "FAIL"),
        ("dgx-h100-port-down", "ib-port-down", "FAIL"),
        ("dgx-h100-nvlink-down", "nvlink-missing", "WARN"),
        ("dgx-a100-no-peermem", "peermem-missing", "FAIL"),
    ],
)
def test_the_finding_stands_and_decides_the_status(no_price, machine, name, level):
    done = in_process("check", "--from", f"@{machine}", "--only", name, "--json")
    found = [one for one in json.loads(done.stdout)["findings"] if one["level"] == level]
    assert found
    assert all(one["effect"].endswith(")") and f"no price: {ERROR}" in one["effect"] for one in found)
    assert done.returncode == 1
    assert done.stderr.count(ERROR) == 1


def test_below_fail_on_the_error_decides_the_status(no_price):
    done = in_process("check", "--from", "@dgx-h100-nvlink-down", "--fail-on", "FAIL")
    assert done.returncode == 70
    assert "WARN nvlink-missing" in done.stdout
    assert done.stderr.count(ERROR) == 1


def test_an_old_finding_without_a_price_is_an_error_too(no_price, tmp_path):
    before = tmp_path / "before.json"
    machine = ("--from", "@dgx-h100-nic-x8", "--only", "pcie-link-degraded")
    assert in_process("check", *machine, "-o", str(before)).returncode == 1
    assert in_process("check", *machine, "--against", str(before)).returncode == 70


def test_a_broken_node_is_drained(no_price):
    done = in_process("gate", "slurm", "--dry-run", "--from", "@dgx-h100-nic-x8")
    assert done.returncode == 1
    assert "State=DRAIN" in done.stdout
    assert done.stderr.count(ERROR) == 1


def test_a_node_with_a_warning_is_good(no_price):
    done = in_process("gate", "npd", "--from", "@dgx-h100-nvlink-down")
    assert (done.returncode, done.stdout) == (0, "no problem found\n")


def test_gdr_check_keeps_its_findings(no_price):
    done = in_process("gdr", "check", "--from", "@dgx-a100-no-peermem", "--json")
    found = [one for one in json.loads(done.stdout)["findings"] if one["id"] == "gpu-direct-rdma"]
    assert {one["level"] for one in found} >= {"FAIL"}
    assert "UNKNOWN" not in {one["level"] for one in found}
    assert done.returncode == 1
    assert ERROR in done.stderr


def test_a_harmful_setting_is_harmful(no_price):
    done = in_process("env", "--from", "@dgx-h100", "--set", "NCCL_P2P_DISABLE=1")
    assert done.returncode == 70
    assert "use host memory, although P2P is available" in " ".join(done.stdout.split())
    assert done.stderr.count(ERROR) == 1


def test_of_two_harmful_settings_both_are_found(no_price):
    machine = case("dgx-h100", settings={"NCCL_P2P_DISABLE": "1", "NCCL_NET_GDR_LEVEL": "LOC"})
    found = [one for one in rules.check(machine) if one.id == "nccl-setting-harmful"]
    assert {(one.subject, one.level) for one in found} == {("NCCL_P2P_DISABLE", "WARN"), ("NCCL_NET_GDR_LEVEL", "WARN")}
    assert all(one.error for one in found)
    assert all(judge(machine, setting).opinion.failure for setting in machine.known_settings)


def test_what_changed_since_a_baseline_is_found(no_price):
    before = Baseline("before", "node", (), case("dgx-h100"))
    found = [one for one in rules.check(case("dgx-h100-nic-x8"), baseline=before) if one.id == "slower-than-before"]
    assert {one.level for one in found} == {"WARN", "UNKNOWN"}
    assert any(one.error for one in found)
