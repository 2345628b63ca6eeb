# SPDX-License-Identifier: Apache-2.0
"""Options that say what a job records, and which tables it applies."""

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from railgauge.cli.streams import tell
from railgauge.topo.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from railgauge.collectives.nccl_plugin import Wanted


class RecordLevel(StrEnum):
    """How much is recorded."""

    CALL = "call"
    OP = "op"
    CHANNEL = "channel"
    NET = "net"


Level = Annotated[
    RecordLevel,
    typer.Option(
        "--level",
        help="call: calls; op: also algorithm, protocol, channels; channel: also GPU timers; net: also the proxy.",
    ),
]
Every = Annotated[
    int,
    typer.Option("--every", metavar="N", min=1, max=1 << 20, help="Use GPU timers for every Nth collective only."),
]
Mib = Annotated[int, typer.Option("--mib", metavar="MIB", min=1, max=4096, help="Room for records, of each process.")]
Record = Annotated[
    str | None, typer.Option("--record", metavar="DIR", help="The folder for the recordings, one of each process.")
]
Tune = Annotated[
    list[str] | None,
    typer.Option(
        "--tune",
        metavar="FILE",
        help="Make NCCL choose as measured by `tune nccl -o FILE`; again for other collectives or ranks.",
    ),
]


def wanted(
    record: str | None, level: RecordLevel, every: int, mib: int, tune: list[str] | None, environment: Mapping[str, str]
) -> "Wanted":
    """What was asked for; remarks about tables go to stderr.

    Raises:
        UsageError: nothing was. InputError: a file is no table. UnavailableError: nothing can be recorded there.
    """
    from railgauge.collectives.nccl_plugin import Wanted, why_not_tuned
    from railgauge.collectives.nccl_tuning import check_tunings

    if not record and not tune:
        raise UsageError("nothing to do: --record DIR records, --tune FILE applies a table of railgauge tune nccl")
    if record and os.path.lexists(record) and not os.path.isdir(record):
        raise UnavailableError(f"--record {record} is not a folder")
    if record and os.path.isdir(record) and not os.access(record, os.W_OK | os.X_OK):
        raise UnavailableError(f"--record {record}: this user may not write there")
    asked = Wanted(folder=record, level=level.value, every=every, mib=mib, tables=tuple(tune or ()))
    remarks = check_tunings(asked.tables, environment, why_not_tuned)
    for remark in (*remarks, *asked.replaced(environment)):
        tell(f"railgauge nccl: {remark}")
    return asked
