# SPDX-License-Identifier: Apache-2.0
"""railgauge nccl env: the variables that make NCCL record a job."""

import os
import shlex
from typing import Annotated

import typer

from railgauge.cli.nccl.options import Every, Level, Mib, RecordLevel
from railgauge.topo.errors import UsageError


def env(
    record: Annotated[
        str | None, typer.Option("--record", metavar="DIR", help="The folder for the recordings, one of each process.")
    ] = None,
    level: Level = RecordLevel.OP,
    every: Every = 1,
    mib: Mib = 64,
    path: Annotated[bool, typer.Option("--path", help="Print the path of the plugin alone.")] = False,
) -> None:
    """Print the variables that make stock NCCL record what it does, for eval in a shell.

    Examples:
        eval "$(railgauge nccl env --record rec/)"
        railgauge nccl env --path
    """
    from railgauge.collectives.nccl_plugin import SEARCHED, Wanted, plugin_path

    if path:
        print(plugin_path())
        return
    if not record:
        raise UsageError("no folder for the recordings: --record DIR; --path prints where the plugin is")
    wanted = Wanted(folder=record, level=level.value, every=every, mib=mib)
    for name, value in wanted.variables().items():
        print(f"export {name}={shlex.quote(value)}")
    folder = shlex.quote(os.path.dirname(plugin_path()))
    print(f"export {SEARCHED}={folder}${{{SEARCHED}:+:${SEARCHED}}}")
