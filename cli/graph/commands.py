# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge graph`."""

from railgauge.cli.graph.join import join
from railgauge.cli.graph.lint import lint
from railgauge.cli.graph.predict import predict
from railgauge.cli.graph.search import search
from railgauge.cli.graph.show import show
from railgauge.cli.help.command import group_of

app = group_of("Find the ring and tree channels of a machine.", search, show, join, predict, lint)
