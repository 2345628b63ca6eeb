# SPDX-License-Identifier: Apache-2.0
"""The rows of a result as a plain table: for CSV, and for the page."""

import csv
import io
from dataclasses import asdict
from typing import Any

from railgauge.collectives.document import RunDocument
from railgauge.collectives.measure import Row
from railgauge.collectives.repeated import WAYS


def columns(row: Row) -> dict[str, Any]:
    """A row's fields by name; those out of place are `out_of_place_time_us` and so on."""
    found: dict[str, Any] = {}
    for name, value in asdict(row).items():
        found |= {f"{name}_{inner}": each for inner, each in value.items()} if name in WAYS else {name: value}
    return found


def csv_text(document: RunDocument) -> str:
    """A line of names, then one for each row (RFC 4180); unknown values are empty."""
    text = io.StringIO()
    lines = [{"collective": document.collective, "ranks": document.ranks, **columns(row)} for row in document.rows]
    if lines:
        writer = csv.DictWriter(text, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    return text.getvalue()
