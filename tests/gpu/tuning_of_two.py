# SPDX-License-Identifier: Apache-2.0
"""Two GPUs choose for an all_gather of few sizes by the tuning file (--anew: without one), and measure them again.

What they would run and what they measured is printed as JSON.
"""

import json
import sys

from tests.patience import FAR_S
from tests.transports.ranks import on_ranks

from railgauge._native import collectives as native
from railgauge.collectives import gpu_tuning
from railgauge.collectives.case import OperationCase
from railgauge.collectives.connect import connect_gpus
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.operation import count_of
from railgauge.collectives.plan import make_plan
from railgauge.collectives.tuning_file import tuning_document
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import SOCKETS
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange

SIZES = (32, 4096, 1 << 16)
COLLECTIVE = Collective.ALL_GATHER


def body(bootstrap):
    log = NcclLog(bootstrap.rank)
    bus_id, name = native.gpu_facts(bootstrap.rank)
    peers = exchange(bootstrap, this_peer(bootstrap.rank, bus_id=bus_id, device=bootstrap.rank, gpu=name))
    plan = make_plan(bootstrap, peers, None, log)
    comm = connect_gpus(bootstrap, peers, plan, SOCKETS, bootstrap.rank, log, tuned="--anew" not in sys.argv)
    ran = [comm.ran(case(size)) for size in SIZES]
    measured = gpu_tuning.tune_gpus(comm, bootstrap, COLLECTIVE, sizes=SIZES)
    bootstrap.barrier()
    comm.close()
    return [[str(one.algorithm), str(one.protocol)] for one in ran], tuning_document(
        {gpu_tuning.place_of(comm): measured}
    )


def case(size: int) -> OperationCase:
    count = count_of(COLLECTIVE, size, Dtype.FLOAT.bytes, 2)
    return OperationCase(collective=COLLECTIVE, count=count, dtype=Dtype.FLOAT, op=Redop.SUM, root=0)


if __name__ == "__main__":
    gpu_tuning.TURNS = gpu_tuning.TIMES = 2  # simulated GPUs take long, and no time of theirs counts
    (ran, document), (_, other) = on_ranks(2, body, FAR_S)
    assert document["entries"] == other["entries"]
    json.dump({"ran": ran, "tuning": document}, sys.stdout)
