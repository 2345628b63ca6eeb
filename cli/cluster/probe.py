# SPDX-License-Identifier: Apache-2.0
"""railgauge cluster probe: what `cluster check` runs on each node to test reachability; internal."""

import sys
from typing import Annotated

import typer


def probe(
    name: Annotated[str, typer.Argument(help="This node's name.")],
) -> None:
    """Listen, and try connections, as `cluster check` asks on stdin."""
    from railgauge.transports.probe.agent import serve

    serve(name, sys.stdin.buffer, sys.stdout.buffer)
