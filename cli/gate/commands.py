# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge gate`."""

from railgauge.cli.gate.labels import nfd
from railgauge.cli.gate.plugin import npd
from railgauge.cli.gate.slurm import slurm
from railgauge.cli.gate.verdict import verdict
from railgauge.cli.help.command import group_of

app = group_of(
    "This node's verdict for a scheduler: Slurm, Kubernetes, NVIDIA Health Validation.", slurm, npd, nfd, verdict
)
