# SPDX-License-Identifier: Apache-2.0
"""Standard JSON: Python's reader also accepts NaN, Infinity and 1e999, which JSON does not have."""

import json
import math
from typing import Any


def json_value(data: bytes | str) -> Any:
    """The value in a JSON text.

    Raises:
        ValueError: it is not JSON, or has a number that is not finite. RecursionError: it is nested too deeply.
    """
    return json.loads(data, parse_constant=_no_number, parse_float=_finite)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a finite number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:20]} is not a finite number")
    return value
