# SPDX-License-Identifier: Apache-2.0
"""Traces as programs write them, of a job of 4 ranks in which 0-1 and 2-3 are groups of their own."""

import json

PAIRS = {0: (0, 1), 1: (0, 1), 2: (2, 3), 3: (2, 3)}
WORLD = (0, 1, 2, 3)


def kineto_call(ts, name, into, out, ranks, *, group="0", dtype="BFloat16", external=None, **more):
    """An event of a collective on the host."""
    args = {
        "Collective name": name,
        "In msg nelems": into,
        "Out msg nelems": out,
        "Group size": len(ranks),
        "dtype": dtype,
        "Process Group Name": group,
        "Process Group Description": "undefined",
        "Process Group Ranks": str(list(ranks)),
        "External id": ts if external is None else external,
        **more,
    }
    return {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": ts, "dur": 3, "args": args}


def kineto_kernel(ts, us, external):
    """The kernel that it started."""
    return {
        "ph": "X",
        "cat": "kernel",
        "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
        "ts": ts,
        "dur": us,
        "args": {"External id": external, "stream": 7},
    }


def kineto_step(number, begin, us):
    """The annotation of a step."""
    return {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "ts": begin, "dur": us}


def kineto(rank, events, world=4, **info):
    """A trace of a rank."""
    told = {"backend": "nccl", "rank": rank, "world_size": world, **info}
    return json.dumps({"schemaVersion": 1, "distributedInfo": told, "traceEvents": events})


def job_of_two_steps(rank, *, slower=0.0):
    """Two steps of a job: an all-reduce of the pair and one of all ranks, with times."""
    events = []
    for step, begin in ((5, 1000), (6, 2000)):
        events.append(kineto_step(step, begin, 900))
        events.append(kineto_call(begin + 10, "allreduce", 1 << 20, 1 << 20, PAIRS[rank], group=f"{rank // 2 + 1}"))
        events.append(kineto_kernel(begin + 20, 50 + slower, begin + 10))
        events.append(kineto_call(begin + 30, "_allgather_base", 1 << 18, 1 << 20, WORLD, Seq=step))
        events.append(kineto_kernel(begin + 40, 70 + slower, begin + 30))
    return kineto(rank, events)
