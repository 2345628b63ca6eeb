# SPDX-License-Identifier: Apache-2.0
"""gate verdict: names, severities and exit statuses of NVIDIA Health Validation."""

import json

import pytest
from tests.cli.command import in_process

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node import rules
from railgauge.topo.render.verdict import reason, verdict_document, verdict_of


@pytest.mark.parametrize(
    ("options", "status", "severity"),
    [
        (("--from", "@dgx-h100", "--skip", "mtu-mismatch"), 0, "PASS"),
        (("--from", "@dgx-h100"), 0, "INFO"),
        (("--from", "@hgx-h100-gid-holes"), 0, "WARNING"),
        (("--from", "@dgx-h100", "--only", "memlock-low"), 1, "UNKNOWN"),
    ],
)
def test_the_severity_decides_the_status(options, status, severity):
    done = in_process("gate", "verdict", *options)
    assert done.returncode == status
    assert json.loads(done.stdout)["overall_severity"] == severity


@pytest.mark.parametrize(("source", "says"), [("@dgx-h100", "ZeroDivisionError"), ("/not/there", "No such file")])
def test_an_error_is_a_verdict_too(monkeypatch, source, says):
    crash = next(rule for rule in rules.RULES if rule.id == "acs-enabled")
    monkeypatch.setattr(type(crash), "find", lambda *_: 1 / 0)
    done = in_process("gate", "verdict", "--from", source)
    assert done.returncode == 1
    assert json.loads(done.stdout)["overall_severity"] == "UNKNOWN"
    assert says in done.stderr


def test_a_failure_beside_an_error_is_critical():
    broken = Finding(id="acs-enabled", level=Level.UNKNOWN, subject="", message="internal error", error="KeyError")
    assert verdict_of([finding(Level.WARN, "ib-port-down", "mlx5_0"), broken]) is Level.UNKNOWN
    assert verdict_of([finding(Level.FAIL, "ib-port-down", "mlx5_0"), broken]) is Level.FAIL


def finding(level, name, subject):
    return Finding(id=name, level=level, subject=subject, message=f"{subject} is bad")


def test_components_are_those_with_findings():
    found = [
        finding(Level.FAIL, "pcie-link-degraded", "0000:18:00.0"),
        finding(Level.WARN, "acs-enabled", "0000:15:00.0"),
        finding(Level.UNKNOWN, "ib-port-down", "mlx5_0"),
        finding(Level.PASS, "nvlink-missing", "gpu-03"),
    ]
    document = verdict_document(found, "gpu-03")
    assert document["overall_severity"] == "CRITICAL"
    assert document["affected_components"] == [
        {
            "category": "PCIE",
            "max_severity": "CRITICAL",
            "check_ids": ["pcie-link-degraded", "acs-enabled"],
            "entities": ["0000:18:00.0", "0000:15:00.0"],
        }
    ]
    assert [one["severity"] for one in document["results"]] == ["CRITICAL", "WARNING", "UNKNOWN"]


@pytest.mark.parametrize(
    ("most", "text"),
    [
        (100, "gpu-lost GPU1,GPU2 +2; ib-port-down mlx5_3:1"),
        (40, "gpu-lost GPU1,GPU2 +2; 1 more"),
        (10, "gpu-los..."),
    ],
)
def test_a_reason_fits(most, text):
    found = [finding(Level.FAIL, "gpu-lost", f"GPU{n}") for n in (1, 2, 3, 4)]
    assert reason([*found, finding(Level.WARN, "ib-port-down", "mlx5_3:1")], most) == text


def test_a_reason_is_one_line():
    assert reason([finding(Level.FAIL, "ib-port-down", "mlx5\n_0\x1b[31m")], 200).isprintable()
