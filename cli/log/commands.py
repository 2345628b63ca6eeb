# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge log`."""

import typer

from railgauge.cli.log.explain import explain
from railgauge.cli.log.hang import hang
from railgauge.cli.machine_options import HELP_OPTIONS

app = typer.Typer(
    help="Explain what a run left behind: logs, flight records, hangs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)


@app.callback()
def log() -> None:
    """Explain what a run left behind: logs, flight records, hangs."""


app.command()(explain)
app.command()(hang)
