# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge graph`."""

import typer

from railgauge.cli.graph.join import join
from railgauge.cli.graph.lint import lint
from railgauge.cli.graph.predict import predict
from railgauge.cli.graph.search import search
from railgauge.cli.graph.show import show
from railgauge.cli.machine_options import HELP_OPTIONS

app = typer.Typer(
    help="Find the ring and tree channels of a machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)
for command in (search, show, join, predict, lint):
    app.command()(command)
