# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge gate`."""

import typer

from railgauge.cli.gate.labels import nfd
from railgauge.cli.gate.plugin import npd
from railgauge.cli.gate.slurm import slurm
from railgauge.cli.gate.verdict import verdict
from railgauge.cli.machine_options import HELP_OPTIONS

app = typer.Typer(
    help="This node's verdict for a scheduler: Slurm, Kubernetes, NVIDIA Health Validation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)


@app.callback()
def gate() -> None:
    """This node's verdict for a scheduler: Slurm, Kubernetes, NVIDIA Health Validation."""


app.command()(slurm)
app.command()(npd)
app.command()(nfd)
app.command()(verdict)
