# SPDX-License-Identifier: Apache-2.0
"""Whether a caller's argument is a whole number that the native engine takes."""

import operator

from railgauge.topo.errors import UsageError


def check_numbers(op: object, root: object) -> None:
    """Raise UsageError if the native engine rejected these arguments."""
    if not is_number(op, 31) or not is_number(root, 31):
        raise UsageError(f"op {op!r:.40}, root {root!r:.40}: expected a Redop and a rank's number") from None


def is_number(value: object, bits: int) -> bool:
    """Whether it is a whole number of at most this many bits beside the sign."""
    try:
        return -(1 << bits) <= operator.index(value) < 1 << bits  # type: ignore[arg-type]
    except TypeError:
        return False
