# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C with --json: 130, and one document that says so, whoever of a job hears it."""

import fcntl
import json
import os
import signal
import termios

import pytest
from tests.cli.command import railgauge, started
from tests.cli.test_schemas import check
from tests.hosts.waiting import until
from tests.patience import FAR_S, HANGS_AFTER_S

ENDLESS = {
    "run": ("run", "all_reduce", "-b", "8M", "-e", "8M", "-n", "100000", "-T", "60", "--device", "cpu"),
    "link": ("link", "-b", "64M", "-n", "1000000", "-T", "60", "--device", "cpu"),
}


def wait_for_ranks(command, process):
    """Until run's are connected, and both of link's are there."""
    sign, times = ("Connected all rings", 1) if command == "run" else ("Bootstrap: Using", 2)
    while times:
        line = process.stderr.readline()
        assert line
        times -= sign in line


def interrupted(command, *more, to=os.kill):
    """The end of the command, which hears Ctrl-C once its ranks are connected."""
    with started(*ENDLESS[command], "--json", *more, NCCL_DEBUG="INFO") as process:
        wait_for_ranks(command, process)
        to(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=HANGS_AFTER_S)
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


NEVER_ENDS = """\
import atexit
import threading
import railgauge.collectives.run as run
from railgauge.collectives.measure import Meter

run.STOP_WITHIN_S = 0.1
Meter.row = lambda *_args, **_named: threading.Event().wait()
atexit.register(print, "Python ends its threads")
"""


def test_a_rank_that_does_not_stop_is_left_without_ending_pythons_threads(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(NEVER_ENDS)
    with started(*ENDLESS["run"], "-g", "2", NCCL_DEBUG="INFO", PYTHONPATH=str(tmp_path)) as process:
        wait_for_ranks("run", process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 130, err
    assert "Python ends" not in out


SECOND_SIZE = """\
import os
import pathlib
import time
from railgauge.collectives.measure import Meter

measured, sizes = Meter.row, []

def row(*args, **named):
    sizes.append(args)
    if len(sizes) == 2 and os.environ.get("RANK") == "0":
        pathlib.Path({sign!r}).touch()
        time.sleep({stays_s})
    return measured(*args, **named)

Meter.row = row
"""


@pytest.mark.parametrize("stays_s", [0, FAR_S], ids=["a rank that ends", "a rank that does not end"])
def test_sizes_that_were_finished_are_in_the_document(tmp_path, stays_s):
    sign = tmp_path / "second"
    (tmp_path / "sitecustomize.py").write_text(SECOND_SIZE.format(sign=str(sign), stays_s=stays_s))
    sizes = ("-b", "1K", "-e", "64M", "-f", "65536", "-n", "10000", "-T", "60", "--device", "cpu", "--ranks", "2")
    with started("run", "all_reduce", *sizes, "--json", PYTHONPATH=str(tmp_path)) as process:
        until(sign.exists)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=HANGS_AFTER_S)
    document = json.loads(out)
    assert (process.returncode, document["status"], len(document["rows"])) == (130, "interrupted", 1), err
    assert document["rows"][0]["bytes"] == 1024


def unread(pipe):
    """How many bytes wait in it."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), "little")


def test_a_document_that_is_on_its_way_stays_whole():
    with started("gdr", "check", "--from", "@dgx-2", "--no-transfer", "--json") as process:
        room = fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ)
        until(lambda: unread(process.stdout) == room)
        os.kill(process.pid, signal.SIGINT)
        until(lambda: not pending(process.pid, signal.SIGINT))
        out, err = process.communicate(timeout=HANGS_AFTER_S)
    assert len(json.loads(out)["findings"]) == 160, err
    assert process.returncode == 0


def pending(process, number):
    """Whether a signal waits for this process."""
    with open(f"/proc/{process}/status") as status:
        held = dict(line.split(":\t") for line in status if line.startswith(("SigPnd", "ShdPnd")))
    return any(int(mask, 16) >> (number - 1) & 1 for mask in held.values())


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
        (("cluster", "check", "--from", "."), "findings.cluster.folder", "node_files", "findings"),
        (("cluster", "dump", "--from", "."), "findings.cluster.folder", "node_files", "cluster"),
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
        wait_for_ranks(command, process)
        ranks = children(process.pid)
        assert len(ranks) == 2
        process.send_signal(number)
        _, err = process.communicate(timeout=HANGS_AFTER_S)
        assert process.returncode == 128 + number
        assert "Traceback" not in err
        assert not [pid for pid in ranks if os.path.exists(f"/proc/{pid}")]


def both(folder):
    """What two have written into files there, once they have."""
    found = [path.read_text().strip() for path in folder.iterdir()]
    return found if len(found) == 2 and all(found) else []


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return file.read().split()


SLOW_SSH = """\
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
echo $$ > "$FOLDER/$1"
exec sleep 1000
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("what", ["dump", "check"])
def test_signals_end_what_is_asked_of_a_cluster_and_leave_nothing(tmp_path, what, number):
    folders = [tmp_path / name for name in ("asked", "temporary")]
    for folder in folders:
        folder.mkdir()
    script = tmp_path / "ssh"
    script.write_text(SLOW_SSH)
    script.chmod(0o755)
    env = {"RAILGAUGE_SSH": str(script), "FOLDER": str(folders[0]), "TMPDIR": str(folders[1])}
    with started("cluster", what, "-w", "a,b", **env) as process:
        pids = until(lambda: both(folders[0]))
        process.send_signal(number)
        _, err = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    assert list(folders[1].iterdir()) == []
    until(lambda: not [pid for pid in pids if os.path.exists(f"/proc/{pid}")])


AT_A_FORK = """\
import os
import signal

os.register_at_fork(after_in_parent=lambda: signal.raise_signal({number}))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_while_a_host_is_asked_counts(tmp_path, number):
    """Python drops what is raised in callbacks around a fork."""
    (tmp_path / "sitecustomize.py").write_text(AT_A_FORK.format(number=int(number)))
    script = tmp_path / "ssh"
    script.write_text("#!/bin/sh\nexec sleep 1000\n")
    script.chmod(0o755)
    with started("cluster", "check", "-w", "a", RAILGAUGE_SSH=str(script), PYTHONPATH=str(tmp_path)) as process:
        _, err = process.communicate(timeout=HANGS_AFTER_S)
    assert process.returncode == 128 + number
    assert "Traceback" not in err
