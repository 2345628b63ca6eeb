# SPDX-License-Identifier: Apache-2.0
"""Checks run's options for --engine nccl."""

from collections.abc import Mapping

from railgauge.collectives.device import AUTO, Device
from railgauge.topo.errors import UsageError


def check_nccl(device: str, ours: Mapping[str, object]) -> None:
    """Refuse host memory and options of our own engine; `ours` has the values of these.

    Raises:
        UsageError: one of them is given.
    """
    if device not in (AUTO, Device.CUDA):
        raise UsageError(f"--engine nccl --device {device}: NCCL runs on GPUs only; leave --device out")
    if given := [flag for flag, value in ours.items() if value]:
        raise UsageError(f"--engine nccl does not support {', '.join(given)}: use --engine railgauge")
