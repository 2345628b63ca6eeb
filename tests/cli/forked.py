# SPDX-License-Identifier: Apache-2.0
"""The command line in a fork of a server that has imported it: a process of its own for a tenth of the CPU time."""

import atexit
import importlib
import os
import runpy
import sys
from collections.abc import Mapping, Sequence

for module in ("cli.run.command", "cli.ranks_start", "cli.link.command", "cli.check.command", "cli.topo.commands"):
    importlib.import_module(f"railgauge.{module}")


def run(argv: Sequence[str], folder: str, environ: Mapping[str, str], out: str, err: str) -> None:
    """Run `railgauge ARGV` in this process, in a folder, with nothing on stdin and two files as stdout and stderr."""
    os.chdir(folder)
    for number, path in enumerate((os.devnull, out, err)):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    os.environ.clear()
    os.environ.update(environ)
    sys.argv[:] = ["railgauge", *argv]
    try:
        runpy.run_module("railgauge", run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # Python before 3.13 leaves them out in a fork
