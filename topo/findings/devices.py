# SPDX-License-Identifier: Apache-2.0
"""The devices that a text about a finding names."""

import re

NAME = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]|[A-Za-z][A-Za-z_]*\d\w*")
"""A device's name: a bus id, GPU3, mlx5_0, enp41s0f0np0."""


def named_devices(text: str) -> frozenset[str]:
    """The names of devices in a text; of a port that of its device."""
    return frozenset(NAME.findall(text))
