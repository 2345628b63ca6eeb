# SPDX-License-Identifier: Apache-2.0
"""gate npd and gate nfd: what node-problem-detector and Node Feature Discovery read of them."""

import re
from dataclasses import replace
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


@pytest.fixture
def no_rule_works(monkeypatch):
    crash = next(rule for rule in rules.RULES if rule.id == "acs-enabled")
    monkeypatch.setattr(type(crash), "find", lambda *_: 1 / 0)


def test_a_rule_that_fails_is_unknown(no_rule_works):
    done = in_process("gate", "npd", "--from", GOOD)
    assert done.returncode == 2
    assert "internal error" in done.stdout


def test_a_node_is_not_labelled_healthy_where_a_rule_fails(no_rule_works):
    done = in_process("gate", "nfd", "--from", GOOD)
    assert done.returncode == 70
    assert labels(done.stdout) == {"railgauge.healthy": "unknown", "railgauge.verdict": "UNKNOWN"}
    assert "ZeroDivisionError" in done.stderr


def test_one_rule_that_fails_makes_no_broken_node_unknown(monkeypatch):
    monkeypatch.setattr(rules, "RULES", tuple(map(fails_behind, rules.RULES)))
    done = in_process("gate", "nfd", "--from", BROKEN, "--fail-on", "WARN")
    assert done.returncode == 1
    assert labels(done.stdout)["railgauge.healthy"] == "false"
    assert "ZeroDivisionError" in done.stderr


def fails_behind(rule):
    def check(machine):
        yield from rule.check(machine)
        raise ZeroDivisionError

    return replace(rule, check=check) if rule.id == "acs-enabled" else rule


@pytest.mark.parametrize(
    ("options", "status"), [(("--from", GOOD, "--only", "memlock-low"), 3), (("--from", "/not/there"), 5)]
)
def test_a_node_that_could_not_be_checked_loses_its_label(tmp_path, options, status):
    path = tmp_path / "railgauge"
    path.write_text("railgauge.healthy=true\n")
    assert in_process("gate", "nfd", *options, "-o", str(path)).returncode == status
    assert labels(path.read_text()) == {"railgauge.healthy": "unknown", "railgauge.verdict": "UNKNOWN"}


def test_a_wrong_option_changes_no_label(tmp_path):
    assert in_process("gate", "nfd", "--from", GOOD, "--only", "no-such", "-o", str(tmp_path / "new")).returncode == 2
    assert not (tmp_path / "new").exists()


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
