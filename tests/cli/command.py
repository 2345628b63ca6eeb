# SPDX-License-Identifier: Apache-2.0
"""Runs the command line as a user would, judged by exit status, stdout and stderr: in a process of its own, or in this
one where only the words matter.
"""

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.context import ForkServerProcess as Fork
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from tests.cli import forked
from tests.patience import HANGS_AFTER_S

from railgauge.cli.main import dispatch

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["__main__", "tests.cli.forked"])
AT_START = ("LD_", "PYTHON")
JOB = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def clean_environment(**extra: str) -> dict[str, str]:
    """The environment without what a launcher, NCCL, `run --tune` or a terminal may have put there."""
    left_out = (*JOB, "COLUMNS", "LINES")  # pytest-xdist sets them
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "RAILGAUGE_")) and k not in left_out}
    return kept | {"RAILGAUGE_TUNING_FILE": "/dev/null"} | extra


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "railgauge", *args]


def railgauge(*args: str, timeout: float = HANGS_AFTER_S, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own: a fork, or a new Python where the environment is to change what
    Python or its loader do at their start.
    """
    environ = clean_environment(**env)
    if any(name.startswith(AT_START) and os.environ.get(name) != value for name, value in environ.items()):
        return subprocess.run(command(*args), env=environ, capture_output=True, text=True, timeout=timeout, check=False)
    with TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        out.touch()
        err.touch()
        process = start_fork(args, os.getcwd(), environ, out, err)
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(command(*args), timeout, out.read_bytes(), err.read_bytes())
        status = process.exitcode
        process.close()
        return subprocess.CompletedProcess(command(*args), status, out.read_text(), err.read_text())


def start_fork(args: Sequence[str], folder: str, environ: Mapping[str, str], out: Path | str, err: Path | str) -> Fork:
    """Start the command line in a fork, with stdout and stderr in two files that are there."""
    process = SERVER.Process(target=forked.run, args=(args, folder, environ, str(out), str(err)))
    process.start()
    return process


@contextlib.contextmanager
def started(*args: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    """The same while it runs, in a session of its own, of which nothing outlives the block: what a failed test left
    behind would take the time of all that follow.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command(*args), env=clean_environment(**env), start_new_session=True, **pipes) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def in_process(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The same without a new process, for a tenth of its cost: commands that read, calculate and print, and refusals.

    What such a process needs to start at all is shown by `railgauge` in tests/cli/test_help.py and test_schemas.py.
    """
    argv = ["railgauge", *args]
    with TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        out, err = Path(folder, "out"), Path(folder, "err")
        stack.enter_context(mock.patch.dict(os.environ, clean_environment(**env), clear=True))
        stack.enter_context(mock.patch.object(sys, "argv", argv))
        stack.enter_context(mock.patch.object(sys, "stdin", stack.enter_context(open(os.devnull))))
        stack.enter_context(contextlib.redirect_stdout(stack.enter_context(out.open("w"))))
        stack.enter_context(contextlib.redirect_stderr(stack.enter_context(err.open("w"))))
        status = dispatch(list(args))
        sys.stdout.flush()
        sys.stderr.flush()
        return subprocess.CompletedProcess(argv, status, out.read_text(), err.read_text())


SMALL = ("-b", "8", "-e", "64K", "-f", "8", "-n", "3")


def run(*args, **env):
    return railgauge("run", "all_reduce", *args, **env)


def refused(*args, **env):
    """A run that is to end before it begins."""
    return in_process("run", "all_reduce", *args, **env)


def document(*args, status=0, **env):
    result = run(*args, "--json", **env)
    assert result.returncode == status, result.stderr
    return json.loads(result.stdout)
