# SPDX-License-Identifier: Apache-2.0
"""gate npd and gate nfd: what node-problem-detector and Node Feature Discovery read of them."""

import re
from datetime import datetime

import pytest
from tests.cli.command import in_process

from railgauge.topo.findings.node import rules

BROKEN, GOOD = "@dgx-h100-nvlink-down", "@dgx-h100"
LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
"""Names behind a prefix, and values (Kubernetes: syntax and character set of labels)."""


@pytest.mark.parametrize(
    ("options", "status", "line"),
    [
        (("--from", GOOD), 0, "no problem found"),
        (("--from", BROKEN, "--fail-on", "WARN"), 1, "nvlink-missing 0000:52:00.0"),
        (("--from", "/not/there"), 2, "/not/there: cannot read it: No such file or directory"),
        (("--from", GOOD, "--only", "memlock-low"), 2, "nothing could be checked"),
    ],
)
def test_a_plugin_has_three_statuses_and_one_line(options, status, line):
    done = in_process("gate", "npd", *options)
    assert (done.returncode, done.stdout) == (status, f"{line}\n")


def test_the_line_is_as_long_as_asked_for():
    done = in_process("gate", "npd", "--from", "@dgx-a100-no-peermem", "--fail-on", "INFO", "--max-length", "45")
    assert done.returncode == 1
    assert len(done.stdout) <= 46
    assert re.fullmatch(r"peermem-missing dgx-a100; \d more\n", done.stdout), done.stdout


def test_the_line_is_cut_at_bytes(tmp_path):
    done = in_process("gate", "npd", "--from", str(tmp_path / ("é" * 40)), "--max-length", "60")
    assert done.returncode == 2
    assert len(done.stdout.rstrip("\n").encode()) <= 60
    assert "\ufffd" not in done.stdout


def test_a_rule_that_fails_is_unknown(monkeypatch):
    crash = next(rule for rule in rules.RULES if rule.id == "acs-enabled")
    monkeypatch.setattr(type(crash), "find", lambda *_: 1 / 0)
    done = in_process("gate", "npd", "--from", GOOD)
    assert done.returncode == 2
    assert "internal error" in done.stdout


def labels(text):
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def test_labels_are_kubernetes_labels():
    done = in_process("gate", "nfd", "--from", "@dgx-a100-no-peermem", "--fail-on", "INFO")
    assert done.returncode == 1
    found = labels(done.stdout)
    assert found["railgauge.healthy"] == "false"
    assert any(name.endswith(".peermem-missing") for name in found)
    assert all(LABEL.fullmatch(text) for pair in found.items() for text in pair)


def test_a_good_node_has_the_verdict_alone(tmp_path):
    path = tmp_path / "railgauge"
    done = in_process("gate", "nfd", "--from", GOOD, "-o", str(path), "--expires", "600")
    assert (done.returncode, done.stdout) == (0, "")
    first, *rest = path.read_text().splitlines()
    assert datetime.fromisoformat(first.removeprefix("# +expiry-time="))
    assert labels("\n".join(rest)) == {"railgauge.healthy": "true", "railgauge.verdict": "INFO"}
