# SPDX-License-Identifier: Apache-2.0
"""railgauge nccl run: a command whose NCCL records what it does, and chooses as measured."""

import os
import sys
from typing import Annotated

import typer

from railgauge.cli.nccl.options import Every, Level, Mib, Record, RecordLevel, Tune, wanted
from railgauge.topo.errors import UnavailableError


def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND", help="What to run, after --.")],
    record: Record = None,
    level: Level = RecordLevel.OP,
    every: Every = 1,
    mib: Mib = 64,
    tune: Tune = None,
) -> None:
    """Run a command with stock NCCL recording what it does (railgauge nccl report), or choosing as measured.

    Examples:
        railgauge nccl run --record rec/ -- torchrun --nproc-per-node 8 train.py
        srun railgauge nccl run --record /shared/rec --level channel -- python train.py
        railgauge nccl run --tune gains.json -- torchrun --nproc-per-node 8 train.py
    """
    environment = wanted(record, level, every, mib, tune, os.environ).environment(os.environ)
    try:
        if record:
            os.makedirs(record, exist_ok=True)
    except OSError as error:
        raise UnavailableError(f"cannot make the folder {record}: {error.strerror}") from None
    sys.stdout.flush()
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        raise UnavailableError(f"cannot run {command[0]}: {error.strerror}") from None
