# SPDX-License-Identifier: Apache-2.0
"""JSON documents as text: as json.dumps has them with an indent of 1, and much faster where they hold long tables.

Python's encoder in C knows no indent, but any separators: a list of flat objects is encoded whole, with line ends for
separators. No string holds a line end: each one stands between objects or their members.
"""

import json
from collections.abc import Mapping
from typing import Any

SCALARS = frozenset({str, int, float, bool, type(None)})


def json_text(content: Mapping[str, Any], indent: int | None = 1) -> str:
    """The document as text; ValueError for a number that JSON cannot express (NaN, Infinity)."""
    if indent is None or not content:
        return json.dumps(content, indent=indent, allow_nan=False)
    step = " " * indent
    values = (f"{step}{json.dumps(key)}: {_value(value, step)}" for key, value in content.items())
    return "{\n" + ",\n".join(values) + "\n}"


def _value(value: Any, step: str) -> str:
    """A value of the document, below the first level."""
    if not _is_table(value):
        return json.dumps(value, indent=len(step), allow_nan=False).replace("\n", f"\n{step}")
    line = f"\n{step * 3}"
    table = json.dumps(value, separators=(f",{line}", ": "), allow_nan=False)
    rows = table[2:-2].replace(f"}},{line}{{", f"\n{step * 2}}},\n{step * 2}{{{line}")
    return f"[\n{step * 2}{{{line}{rows}\n{step * 2}}}\n{step}]"


def _is_table(value: Any) -> bool:
    """Whether it is a list of objects that hold neither lists nor objects."""
    return (
        type(value) is list
        and bool(value)
        and all(type(row) is dict and row and SCALARS.issuperset(map(type, row.values())) for row in value)
    )
