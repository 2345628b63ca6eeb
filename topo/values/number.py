# SPDX-License-Identifier: Apache-2.0
"""Whole numbers in the text of sysfs and procfs; anything else is None, never an error."""

import re

WHOLE = re.compile(r"-?[0-9]{1,18}")


def whole(text: str | None) -> int | None:
    """The decimal number in a text; None if it is absent or something else."""
    return int(text) if text is not None and WHOLE.fullmatch(text) else None


def not_negative(text: str | None) -> int | None:
    """As `whole`, but None for a negative number too: the kernel writes -1 for none (numa_node)."""
    number = whole(text)
    return None if number is None or number < 0 else number
