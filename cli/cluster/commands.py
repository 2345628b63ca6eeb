# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge cluster`."""

import typer

from railgauge.cli.cluster.check import check
from railgauge.cli.cluster.dump import dump
from railgauge.cli.cluster.link import link
from railgauge.cli.cluster.probe import probe
from railgauge.cli.machine_options import HELP_OPTIONS
from railgauge.cli.ranks_command import RanksCommand

app = typer.Typer(
    help="All nodes of a cluster at once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)


@app.callback()
def cluster() -> None:
    """All nodes of a cluster at once."""


app.command()(dump)
app.command()(check)
app.command(cls=RanksCommand)(link)
app.command(hidden=True)(probe)
