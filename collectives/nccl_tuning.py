# SPDX-License-Identifier: Apache-2.0
"""A table of `railgauge tune nccl`, before a job's NCCL gets it; the plugin reads it there once more
(collectives/native/nccl_plugin/tuning.cc).
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from railgauge.collectives.result_file import load_document
from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.predict.comparison import size_text

SCHEMA = "railgauge/nccl-tuning/1"
SEPARATOR = ":"
"""Between the files of RAILGAUGE_NCCL_TUNE."""
LEAST = "NCCL_MIN_NCHANNELS"
MOST = 16
"""Tables of one job (`kTunings`, collectives/native/nccl_plugin/tuner.cc)."""


def check_tunings(
    paths: Sequence[str], environment: Mapping[str, str], why_not: Callable[[str], str | None]
) -> list[str]:
    """What a user has to know of tables that a job with such an environment applies; `why_not`: why its plugin refuses
    one.

    Raises:
        UsageError: a path cannot stand in a list, or there are too many. InputError: a file cannot be read, or is no
            table that the plugin takes.
    """
    if len(paths) > MOST:
        raise UsageError(f"--tune is given {len(paths)} times: a job takes up to {MOST} tables")
    read = {path: _table(path, why_not) for path in paths}
    alike = Counter((table["collective"], table["ranks"], table["nodes"]) for table in read.values())
    twice = [
        f"several tables of {collective} on {ranks} ranks, {nodes} nodes: the first that fits a communicator decides"
        for (collective, ranks, nodes), count in alike.items()
        if count > 1
    ]
    return [*twice, *(words for path, table in read.items() for words in _remarks(path, table, environment))]


def _table(path: str, why_not: Callable[[str], str | None]) -> dict[str, Any]:
    if SEPARATOR in path:
        raise UsageError(f"{path}: the plugin gets a list with {SEPARATOR} between files: rename it")
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
        raise UsageError(f"--tune {path}: the job reads the table once more: name a file")
    table = load_document(path, SCHEMA, "a table of NCCL's settings", "railgauge tune nccl with --json or -o FILE.json")
    if why := why_not(path):
        raise InputError(why, path)
    return table


def _remarks(path: str, table: dict[str, Any], environment: Mapping[str, str]) -> list[str]:
    rows = table.get("rows", [])
    own = max((row.get("channels") or 0 for row in rows), default=0)
    faster = {row["bytes"]: row["faster"] for row in rows}
    wider = {
        size: its[0]["channels"]
        for size, its in faster.items()
        if its and its[0].get("sets_channels") and its[0]["channels"] > own
    }
    sizes = ", ".join(map(size_text, wider))
    if not any(faster.values()):
        return [f"{path}: no setting was faster at any size: NCCL's own choice stays"]
    needed = max(wider.values(), default=0)
    given = environment.get(LEAST, "")
    if needed > (int(given) if given.isdecimal() else 0):
        return [
            f"{path}: the best setting at {sizes} takes up to {needed} channels, NCCL by itself {own}: it is applied "
            f"with {LEAST}={needed} only, which holds for all collectives of the job"
        ]
    return []
