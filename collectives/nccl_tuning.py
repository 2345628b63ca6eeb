# SPDX-License-Identifier: Apache-2.0
"""A table of `railgauge tune nccl`, before a job's NCCL gets it; the plugin reads it there once more
(collectives/native/nccl_plugin/tuning.cc).
"""

from collections.abc import Mapping, Sequence

from railgauge.collectives.result_file import load_document
from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.predict.comparison import size_text

SCHEMA = "railgauge/nccl-tuning/1"
SEPARATOR = ":"
"""Between the files of RAILGAUGE_NCCL_TUNE."""
LEAST = "NCCL_MIN_NCHANNELS"


def check_tunings(paths: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """What a user has to know of tables that a job with such an environment applies.

    Raises:
        UsageError: a path cannot stand in a list. InputError: a file cannot be read, or is no such table.
    """
    return [words for path in paths for words in _remarks(path, environment)]


def _remarks(path: str, environment: Mapping[str, str]) -> list[str]:
    if SEPARATOR in path:
        raise UsageError(f"{path}: the plugin gets a list with {SEPARATOR} between files: rename it")
    table = load_document(path, SCHEMA, "a table of NCCL's settings", "railgauge tune nccl --json and -o FILE.json")
    try:
        gpus, own = table["gpus"], max((row["channels"] or 0 for row in table["rows"]), default=0)
        faster = {row["bytes"]: row["faster"] for row in table["rows"]}
        wider = {
            size: its[0]["channels"]
            for size, its in faster.items()
            if its and its[0]["sets_channels"] and its[0]["channels"] > own
        }
        sizes = ", ".join(map(size_text, wider))
    except (KeyError, TypeError, AttributeError):
        raise InputError("no GPUs or gains in it: an older railgauge wrote it; measure again", path) from None
    if not gpus:
        raise InputError("it does not name the GPUs that it was measured with; measure again", path)
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
