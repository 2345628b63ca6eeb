# SPDX-License-Identifier: Apache-2.0
"""What the command line of nccl-tests says that its table does not."""

import re
from typing import NamedTuple

SYMMETRIC = re.compile(r"(?<!\S)(?:-R|--local_register)(?:\s*=?\s*)2(?!\S)")
ZERO_CTA = re.compile(r"(?<!\S)(?:-x|--cta_policy)(?:\s*=?\s*)2(?!\S)")


class CommandLine(NamedTuple):
    """Whether buffers are in symmetric windows (-R 2), and whether copy engines are to move the data (-x 2)."""

    symmetric: bool = False
    zero_cta: bool = False


def command_line(arguments: str) -> CommandLine:
    """What the arguments of a test say."""
    return CommandLine(*(pattern.search(arguments) is not None for pattern in (SYMMETRIC, ZERO_CTA)))
