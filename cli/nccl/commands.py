# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge nccl`."""

from railgauge.cli.help.command import group_of
from railgauge.cli.nccl.env import env
from railgauge.cli.nccl.report import report
from railgauge.cli.nccl.run import run

app = group_of(
    "Record what stock NCCL does in a job, and report it: who is late, what is slow; apply what `tune nccl` found.",
    env,
    run,
    report,
)
