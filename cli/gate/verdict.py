# SPDX-License-Identifier: Apache-2.0
"""railgauge gate verdict: the verdict as NVIDIA Health Validation writes it."""

import typer

from railgauge.cli.gate.node import From, Only, SaveCapture, Skip, judge
from railgauge.cli.output import print_json
from railgauge.cli.streams import tell
from railgauge.topo.findings.finding import Level

OUT_OF_SERVICE = 1
"""Its exit status for CRITICAL and UNKNOWN; 0 is for PASS, INFO and WARNING, 2 for no verdict (its FAQ)."""


def verdict(source: From = None, only: Only = None, skip: Skip = None, save: SaveCapture = None) -> None:
    """Print one JSON document with the names and severities of NVIDIA Health Validation.

    Exit status: 0 for PASS, INFO and WARNING; 1 for CRITICAL and UNKNOWN, also after an error, which stderr has.

    Examples:
        railgauge gate verdict
    """
    from railgauge.topo.render.verdict import verdict_document

    judged = judge(source, only, skip, Level.FAIL, save)
    print_json(verdict_document(judged.findings, judged.host))
    if judged.error:
        tell(f"railgauge gate verdict: {judged.unknown}")
    if judged.counted or judged.unknown:
        raise typer.Exit(OUT_OF_SERVICE)
