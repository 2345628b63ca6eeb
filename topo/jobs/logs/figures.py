# SPDX-License-Identifier: Apache-2.0
"""Numbers in NCCL's lines; 0 where a damaged line has none."""

from railgauge.topo.values.cpuset import from_list


def cores(text: str) -> int:
    """The number of cores in a list such as "0-3,8"."""
    try:
        return len(from_list(text))
    except ValueError:
        return 0


def figure(text: str) -> float:
    """A bandwidth."""
    try:
        return float(text)
    except ValueError:  # 1.2.3: not of NCCL
        return 0.0
