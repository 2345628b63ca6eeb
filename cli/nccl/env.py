# SPDX-License-Identifier: Apache-2.0
"""railgauge nccl env: the variables that make NCCL record a job, and choose as measured."""

import os
import shlex
from typing import Annotated

import typer

from railgauge.cli.nccl.options import Every, Level, Mib, Record, RecordLevel, Tune, wanted


def env(
    record: Record = None,
    level: Level = RecordLevel.OP,
    every: Every = 1,
    mib: Mib = 64,
    tune: Tune = None,
    path: Annotated[bool, typer.Option("--path", help="Print the path of the plugin alone.")] = False,
) -> None:
    """Print the variables that make stock NCCL record what it does, or choose as measured, for eval in a shell.

    Examples:
        eval "$(railgauge nccl env --record rec/)"
        eval "$(railgauge nccl env --tune gains.json)"
        railgauge nccl env --path
    """
    from railgauge.collectives.nccl_plugin import SEARCHED, plugin_path

    if path:
        print(plugin_path())
        return
    for name, value in wanted(record, level, every, mib, tune, os.environ).variables().items():
        print(f"export {name}={shlex.quote(value)}")
    folder = shlex.quote(os.path.dirname(plugin_path()))
    print(f"export {SEARCHED}={folder}${{{SEARCHED}:+:${SEARCHED}}}")
