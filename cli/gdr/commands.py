# SPDX-License-Identifier: Apache-2.0
"""The subcommands of `railgauge gdr`."""

from railgauge.cli.gdr.check import check
from railgauge.cli.help.command import group_of

app = group_of("GPUDirect RDMA between GPUs and NICs.", check)
