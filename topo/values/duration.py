# SPDX-License-Identifier: Apache-2.0
"""Durations as people write them: 500ms, 60s, 5m, 1h."""

import re

SECONDS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """The seconds of "500ms", "60s", "5m", "1h" or a plain number of seconds; ValueError for other text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration: use 500ms, 60s, 5m or 1h")
    return float(match[1]) * SECONDS[match[2]]
