# SPDX-License-Identifier: Apache-2.0
"""The sizes of a scan, given as in nccl-tests: -b, -e, and -f or -i."""

from collections.abc import Iterator

from railgauge.topo.errors import UsageError

MOST_FACTOR = 1e6
SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """Read a number of bytes: 8, 64K, 1.5M, 2GB (powers of 1024, as in nccl-tests).

    Raises:
        UsageError: not a size.
    """
    number = text.strip().upper().removesuffix("B")
    suffix = number[-1:] if number[-1:] in SUFFIXES else ""
    try:
        value = float(number.removesuffix(suffix)) * SUFFIXES[suffix]
    except ValueError:
        value = -1.0
    if value < 0 or value != value or value > 1 << 62:
        raise UsageError(f"'{text}' is not a size: write 8, 64K, 1M or 2G")
    return int(value)


def scan(begin: int, end: int, step: int, factor: float) -> Iterator[int]:
    """Yield the sizes in bytes from `begin` to `end`: times `factor` where that is more than 1, else plus `step`.

    Raises:
        UsageError: the scan would be empty or would not end.
    """
    if begin > end:
        raise UsageError(f"-b {begin} is more than -e {end}: nothing to scan")
    if not 0 <= factor <= MOST_FACTOR:
        raise UsageError(f"-f {factor:g}: expected 0 to {MOST_FACTOR:g}")
    if factor <= 1 and step <= 0 and begin != end:
        raise UsageError("-i must be more than 0, or -f more than 1")
    size = begin
    while size <= end:
        yield size
        size = max(int(size * factor), size + 1) if factor > 1 else size + max(step, 1)
