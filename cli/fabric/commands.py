# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge fabric`."""

from railgauge.cli.fabric.check import check
from railgauge.cli.fabric.export import export
from railgauge.cli.fabric.load import load
from railgauge.cli.fabric.make import make
from railgauge.cli.fabric.order import order
from railgauge.cli.fabric.rails import rails
from railgauge.cli.fabric.route import route
from railgauge.cli.fabric.show import show
from railgauge.cli.help.command import group_of

app = group_of("The switches and cables between nodes.", show, rails, check, route, order, load, export, make)
