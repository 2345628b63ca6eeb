# SPDX-License-Identifier: Apache-2.0
"""Releases of NCCL as programs print them: as a code."""

NINE = 10_000
"""Codes below it are of releases up to 2.8, X * 1000 + Y * 100 + Z; since then X * 10000 + Y * 100 + Z (nccl.h)."""


def release_of_code(code: str | int | None) -> str:
    """2.29.7 of 22907, 2.8.4 of 2804; "" of None and what is no code."""
    number = int(code or 0)
    if not 2000 <= number < 100 * NINE:
        return ""
    major = NINE if number >= NINE else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"
