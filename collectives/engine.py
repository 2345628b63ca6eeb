# SPDX-License-Identifier: Apache-2.0
"""What executes a run's operations."""

from enum import StrEnum

from railgauge.topo.errors import UsageError


class Engine(StrEnum):
    """This package's own, or the NCCL that is installed."""

    RAILGAUGE = "railgauge"
    NCCL = "nccl"


def parse_engine(text: str) -> Engine:
    """Read --engine.

    Raises:
        UsageError: there is no such engine.
    """
    if text not in tuple(Engine):
        raise UsageError(f"--engine {text}: expected {' or '.join(Engine)}")
    return Engine(text)
