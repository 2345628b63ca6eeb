# SPDX-License-Identifier: Apache-2.0
"""The option that selects NCCL's channels or the best ones."""

from typing import Annotated

import typer

from railgauge.topo.channels.graph import Policy

PolicyOption = Annotated[
    Policy, typer.Option("--policy", help="best is the most bandwidth found; nccl is what NCCL would choose.")
]
