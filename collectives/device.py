# SPDX-License-Identifier: Apache-2.0
"""Where a run's memory is, and whether this version has an engine for it."""

from enum import StrEnum

from railgauge.topo.errors import UnavailableError, UsageError


class Device(StrEnum):
    """Memory of the host, or of GPUs."""

    CPU = "cpu"
    CUDA = "cuda"


AUTO = "auto"
NO_ENGINE = {Device.CUDA: "this version has no GPU engine yet"}
"""Devices without an engine, and what to say of them."""


def check_device(text: str) -> None:
    """Read --device.

    Raises:
        UsageError: there is no such device. UnavailableError: there is no engine for it.
    """
    if text not in (AUTO, *Device):
        raise UsageError(f"--device {text}: it is {AUTO}, cpu or cuda")
    if text != AUTO and (why := NO_ENGINE.get(Device(text))):
        raise UnavailableError(f"--device {text}: {why}; --device cpu runs host ranks")
