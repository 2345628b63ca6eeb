# SPDX-License-Identifier: Apache-2.0
"""Flight records of the format's versions 1.x (PyTorch 2.2 and 2.3), in the fields of 2.x.

They number collectives and messages by one `seq_id`, and have no types. The first ones are a list of entries alone,
without names of groups: `pg_id` counts a process' own groups, so that only 0, that of all ranks, is one group on all.
Source: PyTorch's torch/csrc/distributed/c10d/TraceUtils.h of these releases.
"""

from collections.abc import Mapping
from typing import Any, cast

WORLD = "0", "default_pg"


def in_second_format(dump: Any) -> Any:
    """A dump of any version with the fields of 2.x; what is no dump as it is."""
    told = {"entries": dump} if isinstance(dump, list) else dump
    if not isinstance(told, dict):
        return dump
    record = cast(dict[str, Any], told)
    entries = record.get("entries")
    if not isinstance(entries, list) or not any(_is_old(one) for one in entries):
        return told
    kept = [_entry(one) for one in entries if _is_old(one) and _has_group(one)]
    return {"pg_config": {}} | record | {"entries": kept}


def _is_old(entry: Any) -> bool:
    return isinstance(entry, dict) and "seq_id" in entry and "collective_seq_id" not in entry


def _has_group(entry: Mapping[str, Any]) -> bool:
    return "process_group" in entry or entry.get("pg_id") == 0


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    group = entry.get("process_group", WORLD)
    pair = (group, "") if isinstance(group, str) else group
    numbers = {"collective_seq_id": entry["seq_id"], "p2p_seq_id": entry["seq_id"]}
    return {**entry, **numbers, "process_group": pair, "record_id": entry.get("record_id", entry["seq_id"])}
