# SPDX-License-Identifier: Apache-2.0
"""Numbers at the start of a text as C, and so NCCL, reads them in XML and settings; the rest is ignored."""

import re

NUMBER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
DECIMAL = re.compile(r"\s*([+-]?[0-9]{1,9})")
MOST_DIGITS, BEYOND = 24, 1 << 64


def strtol(text: str) -> int | None:
    """With base 0: 0x10, 020 and 16 are equal; None without a digit.

    More than MOST_DIGITS digits give 2^64 or its negative, which exceed 64 bits.
    """
    found = NUMBER.match(text)
    if found is None:
        return None
    sign, digits = found.groups()
    base = 16 if digits[1:2] in ("x", "X") else 8 if digits.startswith("0") else 10
    value = int(digits, base) if len(digits) <= MOST_DIGITS else BEYOND
    return -value if sign == "-" else value


def atoi(text: str) -> int:
    """With base 10; 0 without a digit."""
    found = DECIMAL.match(text)
    return int(found[1]) if found else 0
