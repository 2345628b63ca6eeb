# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge log`."""

from railgauge.cli.help.command import group_of
from railgauge.cli.log.explain import explain
from railgauge.cli.log.hang import hang

app = group_of("Explain what a run left behind: logs, flight records, hangs.", explain, hang)
