# SPDX-License-Identifier: Apache-2.0
"""How a recording begins; without numpy, which only those who read one need."""

MAGIC = b"RAILNCCL"


def is_recording(first: bytes) -> bool:
    """Whether a file that begins so is a recording."""
    return first.startswith(MAGIC)
