# SPDX-License-Identifier: Apache-2.0
"""Whole numbers in the texts of sysfs and procfs; what is none is None and never an error."""

import re

WHOLE = re.compile(r"-?[0-9]{1,18}")


def whole(text: str | None) -> int | None:
    """The decimal number that a text is, None when it is absent or something else."""
    return int(text) if text is not None and WHOLE.fullmatch(text) else None


def not_negative(text: str | None) -> int | None:
    """As `whole`, None for a negative number too, with which the kernel says that there is none (numa_node: -1)."""
    number = whole(text)
    return None if number is None or number < 0 else number
