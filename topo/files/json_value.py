# SPDX-License-Identifier: Apache-2.0
"""JSON as the standard has it: Python's reader also takes NaN, Infinity and 1e999, which no document may repeat."""

import json
import math
from typing import Any


def json_value(data: bytes | str) -> Any:
    """The value in a JSON text.

    Raises:
        ValueError: it is none, or has a number that is not finite. RecursionError: it is nested too deeply.
    """
    return json.loads(data, parse_constant=_no_number, parse_float=_finite)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:20]} is no number that can be held")
    return value
