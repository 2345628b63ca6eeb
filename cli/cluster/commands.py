# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge cluster`."""

from railgauge.cli.cluster.check import check
from railgauge.cli.cluster.dump import dump
from railgauge.cli.cluster.link import link
from railgauge.cli.cluster.probe import probe
from railgauge.cli.help.command import group_of
from railgauge.cli.ranks_command import RanksCommand

app = group_of("All nodes of a cluster at once.", dump, check)
app.command(cls=RanksCommand)(link)
app.command(hidden=True)(probe)
