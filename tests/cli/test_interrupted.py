# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C with --json: 130, and one document that says so, whoever of a job hears it."""

import json
import os
import signal

import pytest
from tests.cli.command import railgauge, started
from tests.cli.test_schemas import check

ENDLESS = {
    "run": ("run", "all_reduce", "-b", "8M", "-e", "8M", "-n", "100000", "-T", "60", "--device", "cpu"),
    "link": ("link", "-b", "64M", "-n", "1000000", "-T", "60", "--device", "cpu"),
}


def interrupted(command, *more, to=os.kill):
    """The end of the command, which hears Ctrl-C once its ranks are connected."""
    with started(*ENDLESS[command], "--json", *more, NCCL_DEBUG="INFO") as process:
        while "Connected all rings" not in (line := process.stderr.readline()):
            assert line
        to(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=50)
        return process.returncode, out, err


@pytest.mark.parametrize("to", [os.kill, os.killpg], ids=["launcher", "terminal"])
@pytest.mark.parametrize("ranks", [("--ranks", "2"), ("-g", "2")], ids=["launched", "threads"])
def test_run_says_that_it_was_interrupted(to, ranks):
    status, out, err = interrupted("run", *ranks, to=to)
    document = json.loads(out)
    assert (status, document["status"], document["error"]) == (130, "interrupted", "interrupted"), err
    assert document["ranks"] == 2
    assert "Traceback" not in err
    check("run", document)


@pytest.mark.parametrize("to", [os.kill, os.killpg], ids=["launcher", "terminal"])
def test_so_does_link(to):
    status, out, err = interrupted("link", "--ranks", "2", to=to)
    document = json.loads(out)
    assert (status, document["status"], document["error"]) == (130, "interrupted", "interrupted"), err
    assert "Traceback" not in err
    check("link", document)


STOPPED = """\
import railgauge.topo.{module} as module

def stopped(*_, **__):
    raise KeyboardInterrupt

module.{name} = stopped
"""


@pytest.mark.parametrize(
    ("arguments", "module", "name", "schema"),
    [
        (("check", "--from", "@dgx-h100"), "machine", "load_machine", "findings"),
        (("gdr", "check", "--from", "@dgx-h100"), "machine", "load_machine", "findings"),
        (("cluster", "check", "--from", "."), "fleet.folder", "node_files", "findings"),
        (("cluster", "dump", "--from", "."), "fleet.folder", "node_files", "cluster"),
    ],
)
def test_so_does_what_looks_for_findings(tmp_path, arguments, module, name, schema):
    (tmp_path / "sitecustomize.py").write_text(STOPPED.format(module=module, name=name))
    ended = railgauge(*arguments, "--json", PYTHONPATH=str(tmp_path))
    assert ended.returncode == 130, ended.stderr
    document = json.loads(ended.stdout)
    assert document["status"] == "interrupted"
    check(schema, document)
    assert railgauge(*arguments, PYTHONPATH=str(tmp_path)).stdout == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ENDLESS)
def test_other_signals_end_a_job_with_their_status_and_leave_nothing(command, number):
    with started(*ENDLESS[command], "--ranks", "2", "--json", NCCL_DEBUG="INFO") as process:
        while "Connected all rings" not in (line := process.stderr.readline()):
            assert line
        ranks = children(process.pid)
        assert len(ranks) == 2
        process.send_signal(number)
        _, err = process.communicate(timeout=50)
        assert process.returncode == 128 + number
        assert "Traceback" not in err
        assert not [pid for pid in ranks if os.path.exists(f"/proc/{pid}")]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return file.read().split()
