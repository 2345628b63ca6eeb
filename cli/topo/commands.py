# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge topo`."""

from railgauge.cli.help.command import group_of
from railgauge.cli.topo.bind import bind
from railgauge.cli.topo.capture import capture
from railgauge.cli.topo.diff import diff
from railgauge.cli.topo.dump import dump
from railgauge.cli.topo.lint import lint
from railgauge.cli.topo.make import make
from railgauge.cli.topo.paths import paths
from railgauge.cli.topo.pick import pick
from railgauge.cli.topo.show import show

app = group_of(
    "Scan a machine, show and explain its topology; pick GPUs for a job and bind its ranks.",
    *(dump, show, paths, capture, diff, lint, make, pick, bind),
)
