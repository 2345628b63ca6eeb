# SPDX-License-Identifier: Apache-2.0
"""What stuck jobs leave, made up in the layouts of their sources, and the scene that comes of it."""

import json
import pickle

from railgauge.topo.jobs.hang.sources import Sources
from railgauge.topo.jobs.hang.verdict import verdict

CREATED_NS = 1_763_733_731 * 10**9  # 2025-11-21T14:02:11Z
WORLD = "0"


def scene_of(*paths, documents=None):
    sources = Sources(documents or {})
    for path in paths:
        sources.add(str(path))
    return sources.finish()


def found(scene):
    """Id and level of each finding."""
    return [(finding.id, str(finding.level)) for finding in verdict(scene).findings]


def message(scene):
    return verdict(scene).text


def entry(number, name="all_reduce", state="completed", *, group=WORLD, about="default_pg", elements=1024, **other):
    """An entry of PyTorch's flight recorder."""
    peers = name.startswith(("send", "recv"))
    told = {
        "record_id": number,
        "pg_id": 0,
        "process_group": (group, about),
        "collective_seq_id": 0 if peers else number,
        "p2p_seq_id": number if peers else 0,
        "op_id": number,
        "profiling_name": f"nccl:{name}",
        "time_created_ns": CREATED_NS,
        "input_sizes": [[elements]],
        "input_dtypes": ["Float"],
        "output_sizes": [[elements]],
        "output_dtypes": ["Float"],
        "state": state,
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": state == "completed",
        "timeout_ms": 600_000,
        "is_p2p": peers,
        "frames": [{"name": "train", "filename": "train.py", "line": 7}],
    }
    return told | other


def dump(entries, groups=None, ranks=8):
    """A whole dump; groups: {name: ranks}, all ranks of the job are the world's."""
    groups = {WORLD: range(ranks)} | (groups or {})
    config = {
        name: {"name": name, "desc": "default_pg" if name == WORLD else f"group {name}", "ranks": str(list(members))}
        for name, members in groups.items()
    }
    return {"version": "2.9", "pg_config": config, "pg_status": {}, "entries": entries}


def write_dumps(folder, dumps, *, as_json=False):
    """A file for each rank, in the protocol that PyTorch writes."""
    for rank, content in dumps.items():
        if as_json:
            (folder / f"trace_{rank}.json").write_text(json.dumps(content))
        else:
            (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(content, protocol=2))
    return folder


def up_to(last, *, waits=None, first=0, **other):
    """Entries of all_reduce; `waits` is the one that does not end."""
    return [
        entry(number, state="completed" if waits is None or number < waits else "scheduled", **other)
        for number in range(first, last + 1)
    ]
