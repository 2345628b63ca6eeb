# SPDX-License-Identifier: Apache-2.0
"""What ncclras prints, in the layouts of its releases."""

HEAD = """\
NCCL version {release} compiled with CUDA 12.8
CUDA runtime version 12080, driver version 12080

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          4            1          8        8

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
{rows}
Errors
======

"""
WARNINGS = "Warnings\n========\n\n"


def text(*rows, errors="", warnings="", release="2.27.5"):
    return HEAD.format(release=release, rows="".join(f"{row}\n" for row in rows)) + errors + WARNINGS + warnings


def row(errors="OK", *, group=0, status="RUNNING", comms=1):
    return f"{group:5}  {comms:8}  {2:8}  {4:>8}  {8:8}  {8:8}  {status:>8}  {errors:>6}"


def where(rank):
    return f"GPU {rank % 4} managed by process {1000 + rank} on node 10.0.0.{1 + rank // 4}"


MISMATCH = """\
#0-0 (00000000c0ffee01) MISMATCH
  Communicator ranks have different AllReduce operation counts
  7 ranks have launched up to operation 41
  Rank 7 has launched up to operation 40 -- {where}

"""
OLD_MISMATCH = """\
#0-0 (c0ffee01) MISMATCH
  Communicator ranks have different collective operation counts
  6 ranks have launched up to operation 41
  2 ranks have not launched any operations
  Rank 2 -- {two}
  Rank 3 -- GPU 3 (NVML 5) managed by process 1003 on node 10.0.0.1

"""


def behind():
    return text(row("MISMATCH"), warnings=MISMATCH.format(where=where(7)))


def json_rank(rank, counts, **status):
    state = {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False}
    return {
        "rank": rank,
        "host": f"10.0.0.{1 + rank // 4}",
        "pid": 1000 + rank,
        "cuda_dev": rank % 4,
        "nvml_dev": rank % 4,
        "status": state | status,
        "collective_counts": {"Broadcast": 1, "AllGather": 0, "AllReduce": 0} | counts,
    }


def json_missing(rank, **status):
    told = {"unresponsive": True, "considered_dead": False} | status
    return {"rank": rank, "host": "10.0.0.2", "pid": 1000 + rank, "cuda_dev": 3, "nvml_dev": 3, "status": told}


def json_report(ranks, missing=(), size=8):
    comm = {
        "hash": "0xc0ffee01",
        "secondary_hash": "0x1:0x2",
        "size": size,
        "ranks_count": len(ranks),
        "missing_ranks_count": len(missing),
        "ranks": list(ranks),
        "missing_ranks": list(missing),
    }
    return {
        "nccl_version": "2.29.1",
        "cuda_runtime_version": 13000,
        "cuda_driver_version": 13000,
        "timestamp": "2025-12-19 13:06:53",
        "communicators_count": 1,
        "communicators": [comm],
        "ras": {"collection_time_sec": 0.001, "timeouts_count": 0},
    }
