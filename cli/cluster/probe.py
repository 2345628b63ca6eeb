# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster probe: what `cluster check` runs on each node to try who reaches whom; users need not know it."""

import sys
from typing import Annotated

import typer


def probe(
    name: Annotated[str, typer.Argument(help="This node's name.")],
) -> None:
    """Answer and try connections as `cluster check` says on stdin."""
    from railgauge.transports.probe.agent import serve

    serve(name, sys.stdin.buffer, sys.stdout.buffer)
