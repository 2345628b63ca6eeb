# SPDX-License-Identifier: Apache-2.0
"""Values of a JSON trace, checked: anybody may have written it."""

import math
import re
from typing import Any

from railgauge.topo.jobs.traces.trace import MOST_RANKS
from railgauge.topo.values.printable import one_line

NUMBER = re.compile(r"\d{1,7}")
ELLIPSIS = "..."
LONGEST_NAME = 60


def number(value: Any) -> int | None:
    """A whole number, also as text; None for anything else."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value.strip()):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(value: Any) -> int:
    """A number of elements; 0 for none, -1 for what is none."""
    if value is None:
        return 0
    found = number(value)
    return -1 if found is None else found


def microseconds(value: Any, factor: float = 1.0) -> float | None:
    """A time above 0, in microseconds by that factor; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    found = float(value) * factor if abs(value) < 1e300 else math.inf
    return found if math.isfinite(found) and found > 0 else None


def group_name(name: str, about: Any) -> str:
    """A process group by its name, and what the program says that it is for."""
    told = about if isinstance(about, str) and about != "undefined" else ""
    return one_line(f"{name} {told}".strip())[:LONGEST_NAME]


def ranks_in(value: Any) -> tuple[int, ...]:
    """The ranks of a list, or of a text such as `[0, 1, 2]`; () for one that is shortened, or for anything else."""
    if isinstance(value, str):
        found = [] if ELLIPSIS in value else [int(one) for one in NUMBER.findall(value)]
    elif isinstance(value, list):
        found = [one for one in value if isinstance(one, int) and 0 <= one < MOST_RANKS]
    else:
        found = []
    return tuple(found) if len(set(found)) == len(found) < MOST_RANKS else ()
