# SPDX-License-Identifier: Apache-2.0
"""Standard JSON: Python's reader also accepts NaN, Infinity and 1e999, which JSON does not have."""

import json
import math
from typing import Any


def json_value(data: bytes | str) -> Any:
    """The value in a JSON text.

    Raises:
        ValueError: it is not JSON, and from where on; or it has a number that is not finite, or is nested too deeply.
    """
    try:
        return json.loads(data, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise ValueError("not JSON that can be read: it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("not JSON: it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        where = f"from line {error.lineno}, column {error.colno} on" if data.strip() else "it is empty"
        raise ValueError(f"not JSON: {where}") from None
    except ValueError as error:
        if str(error).startswith("not JSON"):
            raise
        raise ValueError("not JSON that can be read: a number of thousands of digits") from None


def _no_number(text: str) -> None:
    raise ValueError(f"not JSON: {text} is not a finite number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"not JSON: {text[:20]} is not a finite number")
    return value
