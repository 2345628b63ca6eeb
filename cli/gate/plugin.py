# SPDX-License-Identifier: Apache-2.0
"""railgauge gate npd: a custom plugin of Kubernetes' node-problem-detector."""

from typing import Annotated, NoReturn

import typer

from railgauge.cli.gate.node import FailOn, From, Only, SaveCapture, Skip, judge
from railgauge.topo.errors import UsageError
from railgauge.topo.findings.finding import Level
from railgauge.topo.values.printable import inline

NOT_OK, NOT_KNOWN = 1, 2
"""Exit statuses of a plugin besides 0 (node-problem-detector: custom plugin monitor)."""
MOST_LINE = 80
"""Its default max_output_length."""


def npd(
    source: From = None,
    only: Only = None,
    skip: Skip = None,
    fail_on: FailOn = Level.FAIL,
    save: SaveCapture = None,
    most: Annotated[
        int,
        typer.Option("--max-length", metavar="N", min=20, help="The most bytes of the line: max_output_length."),
    ] = MOST_LINE,
) -> None:
    """Print one line for node-problem-detector.

    Exit status: 0 the node is good, 1 it has a problem, 2 unknown: the node could not be checked.

    Examples:
        railgauge gate npd
        railgauge gate npd --from @dgx-h100-port-down
    """
    from railgauge.topo.render.verdict import reason

    try:
        judged = judge(source, only, skip, fail_on, save)
    except UsageError as error:
        _leave(str(error), most, NOT_KNOWN)
    if judged.counted:
        _leave(reason(judged.counted, most), most, NOT_OK)
    if judged.unknown:
        _leave(judged.unknown, most, NOT_KNOWN)
    _leave("no problem found", most, 0)


def _leave(line: str, most: int, status: int) -> NoReturn:
    print(inline(line).encode()[:most].decode(errors="ignore"))
    raise typer.Exit(status)
