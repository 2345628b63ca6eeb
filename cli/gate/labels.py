# SPDX-License-Identifier: Apache-2.0
"""railgauge gate nfd: labels of the node for Kubernetes' Node Feature Discovery."""

import time
from typing import Annotated

import typer

from railgauge.cli.gate.node import FailOn, From, Only, SaveCapture, Skip, judge, leave_closed
from railgauge.cli.machine_options import output as output_option
from railgauge.cli.output import write_text
from railgauge.topo.findings.finding import Level


def nfd(
    source: From = None,
    only: Only = None,
    skip: Skip = None,
    fail_on: FailOn = Level.FAIL,
    save: SaveCapture = None,
    output: Annotated[
        str | None,
        output_option("Write a file in NFD's features.d instead of stdout."),
    ] = None,
    keep_s: Annotated[
        float | None,
        typer.Option(
            "--expires", metavar="SECONDS", min=1, help="NFD drops the labels after this time.", show_default="never"
        ),
    ] = None,
) -> None:
    """Write the verdict as a feature file of Node Feature Discovery: NAME=VALUE lines that become labels.

    Exit status: 0 the node is good, 1 it is broken. railgauge.healthy=unknown with 3: nothing could be checked; and
    with 70: an error of railgauge itself.

    Examples:
        railgauge gate nfd -o features.d/railgauge --expires 600
    """
    from railgauge.topo.render.verdict import feature_lines

    judged = judge(source, only, skip, fail_on, save)
    expires = None if keep_s is None else time.time() + keep_s
    healthy = "unknown" if judged.unknown else "false" if judged.counted else "true"
    text = "\n".join(feature_lines(judged.findings, healthy, expires))
    if output is None:
        print(text)
    else:
        write_text(output, text + "\n")
    leave_closed(judged)
