# SPDX-License-Identifier: Apache-2.0
"""Ranks of this machine: ordinary arrays over shared segments and rings, the same read directly by the others, and
arrays in registered memory.

    python -m benchmarks.shared_memory [--ranks 2] [--collectives all_reduce,broadcast] [--most 128] [-o FILE.jsonl]

One process a rank, each on its core. The methods alternate, so that other load affects them equally; the time is that
of the slowest rank in a turn, and of the best turn. Each method runs at every size, chosen by the engine or not.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

import numpy as np
from benchmarks.machine import describe, load

from railgauge.collectives.buffer import Buffer
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Dtype
from railgauge.collectives.launch.arrival import arrive
from railgauge.collectives.launch.place import Place
from railgauge.collectives.operation import NUMBERS, count_of
from railgauge.collectives.plan import make_plan
from railgauge.collectives.zero_copy import NEVER
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange

TIMEOUT_S = 120.0
LEAST_BYTES = 64 << 10
TURNS = 9
TURN_BYTES = 16 << 20
COLLECTIVES = "all_reduce,all_gather,broadcast,alltoall"


class Way(NamedTuple):
    """A communicator that runs everything by one method, and arrays placed for it."""

    comm: Communicator
    source: Any
    destination: Any


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--collectives", default=COLLECTIVES, metavar="NAMES")
    arguments.add_argument("--most", type=int, default=128, metavar="MIB")
    arguments.add_argument("-o", metavar="FILE", help="write a line of JSON for each row there")
    arguments.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    arguments.add_argument("--store", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.rank is not None:
        measure(given)
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.shared_memory", *sys.argv[1:], "--store", f"file://{folder}/store"]
        ranks = [subprocess.Popen([*command, "--rank", str(rank)]) for rank in range(given.ranks)]
        sys.exit(max(rank.wait() for rank in ranks))


def measure(given: argparse.Namespace) -> None:
    """One rank; rank 0 tells."""
    before = load()
    place = Place(process=given.rank, processes=given.ranks, init_method=given.store, launcher="the benchmark")
    with arrive(place, ranks_per_process=1, timeout_s=TIMEOUT_S) as rendezvous:
        bootstrap = rendezvous.join(given.rank)
        peers = exchange(bootstrap, this_peer(given.rank))
        plan = make_plan(bootstrap, peers, None, NcclLog(given.rank))
        os.sched_setaffinity(0, plan.cpus[given.rank])
        ways = ways_of(lambda: Communicator(bootstrap, peers, plan.rings, plan.nets, plan.trees), given.most << 20)
        rows = []
        for collective in map(Collective, given.collectives.split(",")):
            size = LEAST_BYTES
            while size <= given.most << 20:
                rows.append(row(bootstrap, ways, collective, size))
                if given.rank == 0:
                    print(line(rows[-1]), flush=True)
                size *= 4 if size < 1 << 20 else 2
        if given.rank == 0 and given.o:
            head = {"schema": "railgauge/bench/1", "benchmark": "shared-memory", "kind": "machine", "load": before}
            lines = [head | describe() | {"ranks": given.ranks}, *({"kind": "sample"} | one for one in rows)]
            pathlib.Path(given.o).write_text("".join(json.dumps(one) + "\n" for one in lines))
        bootstrap.close()


def ways_of(connect: Any, size: int) -> dict[str, Way]:
    """Every way, by name."""
    copying, reading, mapping = connect(), connect(), connect()
    for collective in NUMBERS:
        copying.run_zero_copy(collective, NEVER, NEVER, 0)
        reading.run_zero_copy(collective, NEVER, 1, NEVER)
        mapping.run_zero_copy(collective, 1, NEVER, 0)
    anywhere = [np.frombuffer(Buffer(size).memory, np.uint8) for _ in range(2)]
    windows = [mapping.empty(size, np.uint8) for _ in range(2)]
    for array in (*anywhere, *windows):
        array[:] = 1
    return {"copies": Way(copying, *anywhere), "cma": Way(reading, *anywhere), "windows": Way(mapping, *windows)}


def row(bootstrap: Bootstrap, ways: dict[str, Way], collective: Collective, size: int) -> dict[str, Any]:
    """Every way's best time in microseconds."""
    count = count_of(collective, size, Dtype.FLOAT.bytes, bootstrap.world_size)
    times = max(1, TURN_BYTES // size)
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(TURNS):
        for name, way in ways.items():
            way.comm.barrier()
            took = way.comm.repeat(collective, way.source, way.destination, count, Dtype.FLOAT, ahead=1, times=times)
            best[name] = min(best[name], max(bootstrap.all_gather(took, float)))
    return {"collective": collective, "bytes": size} | {f"{name}_us": took * 1e6 for name, took in best.items()}


def line(row: dict[str, Any]) -> str:
    """A row of a table."""
    copies, cma, windows = row["copies_us"], row["cma_us"], row["windows_us"]
    ratios = f"{copies / cma:.2f} | {copies / windows:.2f}"
    return f"| {row['collective']} | {row['bytes']} | {copies:.1f} | {cma:.1f} | {windows:.1f} | {ratios} |"


if __name__ == "__main__":
    main()
