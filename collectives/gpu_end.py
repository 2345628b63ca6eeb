# SPDX-License-Identifier: Apache-2.0
"""A path of a GPU's rank to another rank."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuEnd:
    """A rank's path to another one: the transport as NCCL's log names it, and the bytes moved."""

    peer: int
    via: str
    sent: int
    received: int
    arriving: str | None
    """Likewise as the receiver names it, for a network; None for others."""
