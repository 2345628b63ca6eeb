# SPDX-License-Identifier: Apache-2.0
"""IMEX channels, through which GPUs of several nodes map each other's memory (NVIDIA's IMEX guide)."""

import re
from typing import NamedTuple

from railgauge.topo.facts.reader import Reader

CHANNELS = "/dev/nvidia-caps-imex-channels"
MAJORS = "/proc/devices"


class Imex(NamedTuple):
    """channels: device nodes here. in_driver: whether the driver offers such devices, None when that is unreadable."""

    channels: tuple[str, ...]
    in_driver: bool | None


def read_imex(reader: Reader) -> Imex:
    """The IMEX channels of the machine, or of this container."""
    majors = reader.text(MAJORS)
    return Imex(
        channels=tuple(name for name in reader.entries(CHANNELS) if re.fullmatch(r"channel\d+", name)),
        in_driver=None if majors is None else "nvidia-caps-imex-channels" in majors,
    )
