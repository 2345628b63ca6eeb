# SPDX-License-Identifier: Apache-2.0
"""Numbers in text: whole ones, as in sysfs and procfs; at the start of a text, as C and so NCCL reads them in XML and
settings; and in names, for natural order.
"""

import re

WHOLE = re.compile(r"-?[0-9]{1,18}")
NUMBER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
DECIMAL = re.compile(r"\s*([+-]?[0-9]{1,9})")
MOST_DIGITS, BEYOND = 24, 1 << 64
PARTS = re.compile(r"(\D*)(\d{0,18})")


def whole(text: str | None) -> int | None:
    """The decimal number in a text; None if it is absent or something else."""
    return int(text) if text is not None and WHOLE.fullmatch(text) else None


def not_negative(text: str | None) -> int | None:
    """As `whole`, but None for a negative number too: the kernel writes -1 for none (numa_node)."""
    number = whole(text)
    return None if number is None or number < 0 else number


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


def natural(name: str) -> list[tuple[str, int]]:
    """A key to sort names by: texts as texts, numbers in them as numbers."""
    return [(letters, int(digits or 0)) for letters, digits in PARTS.findall(name)]
