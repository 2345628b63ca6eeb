# SPDX-License-Identifier: Apache-2.0
"""What `ncclras -f json` prints, since NCCL 2.28.7: all communicators with all their ranks.

Source: NCCL's src/ras/client_support.cc; the codes of `init_state` and `async_error` are nccl.h's ncclResult_t.
"""

from typing import Any

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.hang.model import JobCommunicator, JobState, Status, Track
from railgauge.topo.jobs.hang.ras_looks import SOURCE
from railgauge.topo.values.printable import one_line

SUCCESS, IN_PROGRESS = 0, 7
RESULTS = {
    1: "Unhandled CUDA error",
    2: "System error",
    3: "Internal error",
    4: "Invalid argument",
    5: "Invalid usage",
    6: "Remote process error",
}
MOST_RANKS = 1 << 20


def read_ras_json(scene: JobState, document: dict[str, Any], path: str) -> None:
    """Read a document; InputError if it is not as NCCL writes it."""
    try:
        for one in document["communicators"]:
            _communicator(scene, one)
    except KeyError as error:
        raise InputError(f"not the JSON of ncclras: field {error} is missing", path) from None
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"not the JSON of ncclras: {error}", path) from None


def _communicator(scene: JobState, told: dict[str, Any]) -> None:
    size = int(told["size"])
    if not 0 < size <= MOST_RANKS:
        raise ValueError(f"a communicator of {size} ranks")
    name = f"0x{int(told['hash'], 16):x}"
    comm = scene.communicator(name, SOURCE, JobCommunicator(name, size=size))
    for one in told["ranks"]:
        rank = int(one["rank"])
        comm.nodes[rank] = one_line(str(one["host"]))
        _status(comm, rank, one["status"])
        for collective, calls in one["collective_counts"].items():
            comm.lane(one_line(str(collective))).put(rank, Track(int(calls)))
    for one in told["missing_ranks"]:
        rank = int(one["rank"])
        comm.nodes[rank] = one_line(str(one["host"]))
        _missing(comm, rank, one)


def _status(comm: JobCommunicator, rank: int, told: dict[str, Any]) -> None:
    state, error = int(told["init_state"]), int(told["async_error"])
    if told["abort_flag"] or told["finalize_called"] or told["destroy_flag"]:
        comm.status[rank] = Status.LEFT
    else:
        comm.status[rank] = Status.RUNNING if state == SUCCESS else Status.STARTING
    for code in (state, error):
        if code not in (SUCCESS, IN_PROGRESS):
            comm.trouble[rank] = RESULTS.get(code, f"error {code}")


def _missing(comm: JobCommunicator, rank: int, told: dict[str, Any]) -> None:
    how = told["status"]
    if how["considered_dead"] or how["unresponsive"]:
        comm.status[rank] = Status.DEAD if how["considered_dead"] else Status.SILENT
        said = "is dead, says RAS" if how["considered_dead"] else "does not answer RAS"
        comm.trouble[rank] = f"process {int(told['pid'])} on node {comm.nodes[rank]} {said}"
    else:
        comm.status[rank] = Status.LEFT
