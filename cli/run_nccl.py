# SPDX-License-Identifier: Apache-2.0
"""What of run's flags there is for NCCL as the engine."""

from collections.abc import Mapping

from railgauge.collectives.device import AUTO, Device
from railgauge.topo.errors import UsageError


def check_nccl(device: str, ours: Mapping[str, object]) -> None:
    """Refuse what only our own engine does; `ours` has the values of such flags.

    Raises:
        UsageError: host memory, or a flag that NCCL has nothing for.
    """
    if device not in (AUTO, Device.CUDA):
        raise UsageError(f"--engine nccl --device {device}: NCCL moves memory of GPUs; leave --device out")
    if given := [flag for flag, value in ours.items() if value]:
        raise UsageError(f"--engine nccl has no {', '.join(given)}: these are of --engine railgauge")
