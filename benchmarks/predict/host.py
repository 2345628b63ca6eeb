# SPDX-License-Identifier: Apache-2.0
"""Host ranks: every algorithm measured, beside the cost model.

    python -m benchmarks.predict.host [--ranks 2] [--hosts 1] [--collectives all_reduce,broadcast] [-o FILE.jsonl]

One process a rank, on this machine. With several hosts the ranks only count as if they were on different ones
(NCCL_HOSTID): what is between them are sockets over the loopback interface, whose planned speed stands for the network.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.machine import describe, load

from railgauge.collectives.cost.host_cost import host_cost
from railgauge.collectives.cost.host_ranks import HostRanks
from railgauge.collectives.launch.arrival import arrive
from railgauge.collectives.launch.place import Place
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.plan import make_plan
from railgauge.collectives.tune import SIZES, tune
from railgauge.collectives.tuning import TuningScope
from railgauge.collectives.tuning_file import Timed
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange

TIMEOUT_S = 60.0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--hosts", type=int, default=1)
    arguments.add_argument("--collectives", default=",".join(NUMBERS), metavar="NAMES")
    arguments.add_argument("-o", metavar="FILE", help="write a line of JSON for each time there")
    arguments.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    arguments.add_argument("--store", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.rank is not None:
        collectives = [Collective(name) for name in given.collectives.split(",")]
        measure(given.rank, given.ranks, given.store, collectives, given.o)
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.predict.host", *sys.argv[1:], "--store", f"file://{folder}/store"]
        ranks = [
            subprocess.Popen(
                [*command, "--rank", str(rank)],
                env=os.environ | {"NCCL_HOSTID": f"host-{rank * given.hosts // given.ranks}"},
                stdout=None if rank == 0 else subprocess.DEVNULL,
            )
            for rank in range(given.ranks)
        ]
        sys.exit(max(rank.wait() for rank in ranks))


def measure(rank: int, ranks: int, store: str, collectives: list[Collective], path: str | None) -> None:
    """One rank; rank 0 reports."""
    place = Place(process=rank, processes=ranks, init_method=store, launcher="the benchmark")
    with arrive(place, ranks_per_process=1, timeout_s=TIMEOUT_S) as rendezvous:
        bootstrap = rendezvous.join(rank)
        peers = exchange(bootstrap, this_peer(rank))
        plan = make_plan(bootstrap, peers, None, NcclLog(rank))
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, plan.cpus[rank])
        before = load()
        times = tune(bootstrap, peers, plan, collectives, SIZES)
        if rank == 0:
            where = TuningScope.of(peers, rings=len(plan.rings), trees=len(plan.trees), net_gb_per_s=plan.gb_per_s)
            tell(times, where.host_ranks, before, path)
        bootstrap.close()


def tell(times: list[Timed], where: HostRanks, before: float, path: str | None) -> None:
    """A row each, and how far off; to a file also as JSON."""
    print(f"# {where.ranks} ranks, {where.nodes} hosts, {where.cores} cores each; load {before:.1f} before")
    print("| collective | bytes | algorithm | measured us | model us | model / measured |\n|---|---|---|---|---|---|")
    rows: list[dict[str, Any]] = []
    for one in times:
        model_us = host_cost(where, one.collective, one.algorithm, one.bytes).time_us
        rows.append({"bytes": one.bytes, "measured_us": one.time_us, "model_us": model_us})
        rows[-1] |= {
            "collective": one.collective,
            "algorithm": one.algorithm,
            "ranks": where.ranks,
            "hosts": where.nodes,
        }
        ratio = model_us / one.time_us
        print(
            f"| {one.collective} | {one.bytes} | {one.algorithm} | {one.time_us:.2f} | {model_us:.2f} | {ratio:.2f} |"
        )
    off = sorted(max(row["model_us"] / row["measured_us"], row["measured_us"] / row["model_us"]) for row in rows)
    print(f"# {len(off)} times: off by a factor of {statistics.median(off):.2f} (median), {off[-1]:.2f} (most)")
    if path:
        head = {"schema": "railgauge/bench/1", "benchmark": "predict-host", "kind": "machine", "load": before}
        lines = [head | describe(), *({"kind": "sample"} | row for row in rows)]
        pathlib.Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
