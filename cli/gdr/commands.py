# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge gdr`."""

import typer

from railgauge.cli.gdr.check import check
from railgauge.cli.machine_options import HELP_OPTIONS

app = typer.Typer(
    help="GPUDirect RDMA between GPUs and NICs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)


@app.callback()
def gdr() -> None:
    """GPUDirect RDMA between GPUs and NICs."""


app.command()(check)
