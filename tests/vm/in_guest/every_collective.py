# SPDX-License-Identifier: Apache-2.0
"""One rank of a job that meets once and runs every collective, verified; prints a JSON document of what each did, and
how the connections and their queue pairs are.
"""

import json
import os
import sys
from collections.abc import Iterable

from railgauge._native.transports import FaultySender
from railgauge.collectives.bench import Bench
from railgauge.collectives.connect import connect
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.host_bench import HostBench
from railgauge.collectives.job import Job
from railgauge.collectives.launch.arrival import arrive
from railgauge.collectives.launch.place import find_place
from railgauge.collectives.measure import Meter
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.plan import make_plan
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import choose_network
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange

SIZES = (96, 100_000)
TIMEOUT_S = 40.0


def every_collective(collectives: Iterable[Collective] = tuple(NUMBERS)) -> int:
    """Run all of them, or some; the exit status."""
    place = find_place(os.environ, None)
    assert place is not None
    with arrive(place, ranks_per_process=1, timeout_s=TIMEOUT_S) as rendezvous:
        bootstrap = rendezvous.join(place.process)
        log = NcclLog(place.process)
        peers = exchange(bootstrap, this_peer(place.process))
        network = choose_network(bootstrap, peers, log)
        comm = connect(bootstrap, peers, make_plan(bootstrap, peers, None, log, network=network), network, log)
        bench = HostBench(comm, max(SIZES), register=False)
        wrong = {str(collective): wrong_of(collective, bench, bootstrap) for collective in collectives}
        ends = [end for end in comm.ends.values() if not isinstance(end, FaultySender)]
        document = {
            "wrong": wrong,
            "vias": sorted({end.via for end in ends}),
            "attributes": [one for end in ends for one in end.attributes()],
        }
        json.dump(document, sys.stdout)
        bootstrap.barrier()
        comm.close()
        bootstrap.close()
    return 0


def wrong_of(collective: Collective, bench: Bench, bootstrap: Bootstrap) -> int:
    """Wrong elements of all sizes, on all ranks, out of place and in place."""
    job = Job(
        collective=collective,
        sizes=SIZES,
        dtypes=(Dtype.FLOAT,),
        redops=(Redop.SUM,),
        root=1,
        begin=SIZES[0],
        end=SIZES[-1],
        step=0,
        factor=2,
        iterations=1,
        warmup=0,
        aggregate=1,
        cycles=1,
        check=1,
        average=1,
        cpu_time=False,
        threads=1,
        ranks_per_thread=1,
        timeout_s=TIMEOUT_S,
        graph_file=None,
        fault=None,
        min_busbw=None,
        expect_transport=None,
        json=True,
    )
    meter = Meter(bench, bootstrap, job, lambda: None)
    rows = [meter.row(size, Dtype.FLOAT, Redop.SUM, 1, seed) for seed, size in enumerate(SIZES)]
    return sum(timing.wrong or 0 for row in rows for timing in (row.out_of_place, row.in_place))


if __name__ == "__main__":
    sys.exit(every_collective())
