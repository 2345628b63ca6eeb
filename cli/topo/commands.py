# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge topo`."""

import typer

from railgauge.cli.machine_options import HELP_OPTIONS
from railgauge.cli.topo.bind import bind
from railgauge.cli.topo.capture import capture
from railgauge.cli.topo.diff import diff
from railgauge.cli.topo.dump import dump
from railgauge.cli.topo.lint import lint
from railgauge.cli.topo.make import make
from railgauge.cli.topo.paths import paths
from railgauge.cli.topo.pick import pick
from railgauge.cli.topo.show import show

app = typer.Typer(
    help="Scan this machine, show and explain its topology.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)
for command in (dump, show, paths, capture, diff, lint, make, pick, bind):
    app.command()(command)
