# SPDX-License-Identifier: Apache-2.0
"""What the command line of nccl-tests says that its table does not."""

import re

SYMMETRIC = re.compile(r"(?<!\S)(?:-R|--local_register)(?:\s*=?\s*)2(?!\S)")


def is_symmetric(arguments: str) -> bool:
    """Whether the buffers are in symmetric windows (-R 2)."""
    return SYMMETRIC.search(arguments) is not None
