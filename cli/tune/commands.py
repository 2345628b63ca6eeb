# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge tune`."""

from railgauge.cli.help.command import group_of
from railgauge.cli.tune.nccl import nccl

app = group_of("Measure which settings make stock NCCL faster than its own choice.", nccl)
