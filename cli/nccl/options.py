# SPDX-License-Identifier: Apache-2.0
"""Options that say what a job records."""

from enum import StrEnum
from typing import Annotated

import typer


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
