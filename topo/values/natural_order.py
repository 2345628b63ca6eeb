# SPDX-License-Identifier: Apache-2.0
"""Names in the order people expect: mlx5_2 before mlx5_10."""

import re

PARTS = re.compile(r"(\D*)(\d{0,18})")


def natural(name: str) -> list[tuple[str, int]]:
    """A key to sort names by: texts as texts, numbers in them as numbers."""
    return [(letters, int(digits or 0)) for letters, digits in PARTS.findall(name)]
