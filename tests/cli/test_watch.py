# SPDX-License-Identifier: Apache-2.0
"""railgauge watch: changes from check to check, metrics, --on-change, and the status at the end."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from tests.cli.command import in_process, railgauge, started
from tests.patience import HANGS_AFTER_S

from railgauge.fixtures.__main__ import load, unpack

BROKEN, GOOD = "@dgx-h100-nvlink-down", "@dgx-h100"
PORTS = "sys/class/infiniband/mlx5_0/ports/1"


@pytest.fixture
def node(tmp_path):
    """A healthy machine as a folder of files that a test can change."""
    folder = tmp_path / "node"
    capture = load("hgx-h100-8nic")
    unpack(capture.texts, capture.links, folder)
    return folder


def set_counter(node, name, value):
    folder = os.path.realpath(node / PORTS) + "/counters"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/.{name}", "w") as file:  # a kernel's counter is never empty
        file.write(f"{value}\n")
    os.rename(file.name, f"{folder}/{name}")


def lines_until(process, wanted):
    """The lines of stdout up to one that holds the text."""
    seen = []
    deadline = time.monotonic() + HANGS_AFTER_S
    while time.monotonic() < deadline:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        seen.append(line)
        if wanted in line:
            return seen
    pytest.fail(f"not seen: {wanted}")


def test_a_count_ends_it_with_the_status_of_the_last_check():
    watched = in_process("watch", "--from", BROKEN, "--every", "10ms", "--count", "2")
    assert watched.returncode == 1
    first, *events = watched.stdout.splitlines()
    assert first.startswith("watching dgx-h100 every 0.01 s: 1 WARN")
    assert [line.split()[1:4] for line in events if "WARN" in line] == [["new", "WARN", "nvlink-missing:"]]
    assert in_process("watch", "--from", GOOD, "--every", "10ms", "--count", "1").returncode == 0


def test_changes_are_printed_and_run_a_command(node, tmp_path):
    told, metrics = tmp_path / "told", tmp_path / "node.prom"
    on_change = f"cat > {told}.part && mv {told}.part {told}"
    options = ("--every", "50ms", "-o", str(metrics), "--on-change", on_change)
    with started("watch", "--from", str(node), *options) as process:
        lines_until(process, "watching")
        state = os.path.realpath(node / PORTS) + "/state"
        with open(state, "w") as file:
            file.write("1: DOWN\n")
        (line,) = [line for line in lines_until(process, "ib-port-down") if "ib-port-down" in line]
        assert " new " in line
        assert "mlx5_0:1" in line
        with open(state, "w") as file:
            file.write("4: ACTIVE\n")
        lines_until(process, "gone")
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANGS_AFTER_S) == -signal.SIGTERM
    changed = json.loads(told.read_text())
    assert changed["schema"] == "railgauge/watch/1"
    assert "ib-port-down" in {event["id"] for event in changed["events"]}
    assert "railgauge_finding_changes" in metrics.read_text()


def test_rates_of_error_counters_are_metrics(node, tmp_path):
    metrics = tmp_path / "node.prom"
    set_counter(node, "symbol_error", 5)
    with started("watch", "--from", str(node), "--every", "50ms", "-o", str(metrics)) as process:
        lines_until(process, "watching")
        deadline = time.monotonic() + HANGS_AFTER_S
        count = 5
        while time.monotonic() < deadline:
            set_counter(node, "symbol_error", count := count + 10)
            text = metrics.read_text() if metrics.exists() else ""
            rates = [line for line in text.splitlines() if 'counter="symbol_error"' in line]
            if rates and float(rates[0].split()[-1]) > 0:
                break
            time.sleep(0.05)
        else:
            pytest.fail(metrics.read_text())
    assert rates[0].startswith('railgauge_errors_per_second{device="mlx5_0:1",counter="symbol_error"')


def test_errors_between_two_checks_are_found(node):
    set_counter(node, "symbol_error", 5)
    with started("watch", "--from", str(node), "--every", "50ms", "--only", "ib-errors-rising") as process:
        lines_until(process, "watching")
        set_counter(node, "symbol_error", 25)
        (line,) = [line for line in lines_until(process, "rose in") if "rose in" in line]
        assert "WARN ib-errors-rising: mlx5_0:1: rose in" in line
        assert "symbol_error by 20 (" in line


def test_a_machine_that_cannot_be_read_for_a_while_is_checked_again(node, tmp_path):
    path = tmp_path / "topo.xml"
    assert railgauge("topo", "dump", "--from", GOOD, "-o", str(path)).returncode == 0
    with started("watch", "--from", str(path), "--every", "50ms") as process:
        lines_until(process, "watching")
        path.rename(tmp_path / "away")
        message = process.stderr.readline()
        while "checking again" not in message:
            assert message
            message = process.stderr.readline()
        assert "topo.xml: cannot read it" in message
        (tmp_path / "away").rename(path)
        assert process.poll() is None


NO_READER = """
import signal
from railgauge.cli.watch import _run
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
_run("exit 7", {"host": "gpu-01", "events": [], "more": "x" * 1_000_000})
"""


def test_a_command_that_does_not_read_ends_nothing():
    done = subprocess.run([sys.executable, "-c", NO_READER], capture_output=True, text=True, timeout=HANGS_AFTER_S)
    assert (done.returncode, "--on-change ended with 7" in done.stderr) == (0, True)


def test_a_command_that_fails_is_named(node):
    shutil.rmtree(node / "sys/class/net", ignore_errors=True)
    with started(
        "watch", "--from", str(node), "--every", "50ms", "--on-change", "echo no route >&2; exit 7"
    ) as process:
        lines_until(process, "watching")
        with open(os.path.realpath(node / PORTS) + "/state", "w") as file:
            file.write("1: DOWN\n")
        said = [process.stderr.readline()]
        while "--on-change" not in said[-1]:
            assert said[-1], (said, process.wait(HANGS_AFTER_S))
            said.append(process.stderr.readline())
        assert "--on-change ended with 7: no route" in said[-1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--every", "soon"), "is not a duration"),
        (("--every", "0"), "more than 0"),
        (("-o", "metrics.txt"), "ends in .prom"),
        (("--count", "0"), "--count"),
    ],
)
def test_what_is_refused(options, says):
    done = in_process("watch", "--from", GOOD, *options)
    assert done.returncode == 2
    assert says in done.stderr


def test_lines_of_json(tmp_path):
    done = in_process("watch", "--from", BROKEN, "--every", "10ms", "--count", "3", "--json")
    (line,) = done.stdout.splitlines()
    assert {event["change"] for event in json.loads(line)["events"]} == {"new"}


def test_promtool_takes_the_metrics(tmp_path):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    path = tmp_path / "node.prom"
    in_process("watch", "--from", BROKEN, "--every", "10ms", "--count", "2", "-o", str(path))
    command = [promtool, "check", "metrics"]
    done = subprocess.run(command, input=path.read_text(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
