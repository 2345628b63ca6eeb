# SPDX-License-Identifier: Apache-2.0
"""Whether a value read from the network has the expected form, before anything is done with it."""

import json
from typing import Any

Shape = Any
"""None; a type, met exactly (True is no int); a list [shape] for any number; a tuple, element by element; a dict with
just these keys."""


def fits(value: Any, shape: Shape) -> bool:
    """Whether a decoded JSON value has this shape; JSON's lists stand for tuples too."""
    if shape is None:
        return value is None
    if isinstance(shape, dict):
        return isinstance(value, dict) and value.keys() == shape.keys() and all(fits(value[k], shape[k]) for k in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
    if isinstance(shape, tuple):
        same = isinstance(value, list) and len(value) == len(shape)
        return same and all(fits(item, form) for item, form in zip(value, shape, strict=True))
    return type(value) is shape


def read_json(text: bytes, shape: Shape) -> Any:
    """Decode JSON of a shape.

    Raises:
        ValueError: it is not JSON, or has another shape.
    """
    try:
        value = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    if not fits(value, shape):
        raise ValueError("JSON of an unexpected form")
    return value


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a number")
