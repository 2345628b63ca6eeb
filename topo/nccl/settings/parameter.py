# SPDX-License-Identifier: Apache-2.0
"""Numbers among NCCL's settings, read as NCCL reads them (`ncclLoadParam`): C's strtoll with any base."""

from collections.abc import Mapping

from railgauge.topo.values.number import strtol

LARGEST = (1 << 63) - 1


def parameter(environment: Mapping[str, str], name: str, default: int) -> int:
    """A setting's number: the default when it is unset, empty or beyond 64 bits; 0 for text that is not a number."""
    text = environment.get(name)
    if not text:
        return default
    number = strtol(text) or 0
    return default if abs(number) > LARGEST else number
