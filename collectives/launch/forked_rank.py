# SPDX-License-Identifier: Apache-2.0
"""Ranks as forks of the process that starts them, which imports what all of them need: a rank then starts in a few
milliseconds of CPU time instead of the 0.3 s that Python and the imports take.
"""

import atexit
import contextlib
import gc
import importlib
import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

NEEDED = {
    "run": (
        "railgauge.cli.run.command",
        "railgauge.cli.run.output",
        "railgauge.collectives.run",
    ),
    "link": (
        "railgauge.cli.link.command",
        "railgauge.cli.link.output",
        "railgauge.collectives.link.process",
        "railgauge.transports.ib.agreement",
        "railgauge.transports.ib.route",
    ),
}
"""By command: what its ranks import. None of it may start a thread or talk to a GPU when it is imported."""


def prepare(command: str) -> None:
    """Import what the ranks of a command need, once, before they are forked."""
    for name in NEEDED[command]:
        importlib.import_module(name)
    gc.freeze()  # a collection in a rank would copy every page it shares with the others


def start_rank(
    argv: Sequence[str], environ: Mapping[str, str], *, shows: bool, closed: Iterable[int] = ()
) -> BaseProcess:
    """Start `railgauge ARGV` in a fork with the given environment, /dev/null as stdin and SIGINT blocked (main unblocks
    it). Linux's name of the process is `railgauge:RANK`, for ps and top.

    Args:
        argv: railgauge's arguments.
        environ: all its variables, RANK among them.
        shows: its stdout is this process's, otherwise /dev/null.
        closed: file descriptors of this process that it must not hold open.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    rank = multiprocessing.get_context("fork").Process(target=_run, args=(argv, environ, shows, closed))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        rank.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return rank


def _run(argv: Sequence[str], environ: Mapping[str, str], shows: bool, closed: Iterable[int]) -> None:
    for descriptor in closed:
        os.close(descriptor)
    if not shows:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if callable(signal.getsignal(number)):  # what is ignored stays so (nohup)
            signal.signal(number, signal.SIG_DFL)
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(f"railgauge:{environ['RANK']}")
    os.environ.clear()
    os.environ.update(environ)
    sys.argv[1:] = argv
    try:
        runpy.run_module("railgauge", run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # Python before 3.13 leaves them out in a fork
