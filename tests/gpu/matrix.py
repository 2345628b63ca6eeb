# SPDX-License-Identifier: Apache-2.0
"""Every pair of collective, type, operator, count, place and root on GPUs, against NumPy.

    python -m tests.gpu.matrix --ranks 2              # a thread for each GPU, in one process
    python -m tests.gpu.matrix --ranks 4 --processes --hosts 2

Settings of the environment say how GPUs reach each other (NCCL_P2P_DISABLE, NCCL_TOPO_FILE). Prints how many cases
each rank ran; fails with what was wrong.
"""

import argparse
import multiprocessing
import os
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from tests.collectives import oracle
from tests.gpu.on_gpu import OnGpu
from tests.transports.ranks import meet_on, on_ranks

from railgauge._native import collectives as native
from railgauge.collectives.connect import connect_gpus
from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.plan import make_plan
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange
from railgauge.transports.store.file_store import FileStore

TIMEOUT_S = 40


def run_cases(bootstrap: Bootstrap, hosts: int, seed: int) -> str:
    """One rank's part; the ranks are dealt out to so many hosts, which share no memory."""
    rank = bootstrap.rank
    log = NcclLog(rank)
    bus_id, name = native.gpu_facts(rank)
    everybody = exchange(bootstrap, this_peer(rank, bus_id=bus_id, device=rank, gpu=name))
    peers = [replace(peer, host_id=f"host-{peer.rank * hosts // len(everybody)}") for peer in everybody]
    comm = connect_gpus(bootstrap, peers, make_plan(bootstrap, peers, None, log), rank, log)
    cases = oracle.cases(NUMBERS, seed)
    for number, case in enumerate(cases):
        oracle.run(OnGpu(comm), case, seed * 10000 + number)  # type: ignore[arg-type]
    told = f"rank {rank}: {len(cases)} cases via {sorted({end.via for end in comm.ends})}"
    bootstrap.barrier()
    comm.close()
    return told


def process_main(rank: int, ranks: int, hosts: int, seed: int, path: str, results) -> None:
    try:
        meeting = meet_on(FileStore(path, ranks, timedelta(seconds=TIMEOUT_S)), rank, ranks, timeout_s=TIMEOUT_S)
        bootstrap = meeting.join(rank)
        told = run_cases(bootstrap, hosts, seed)
        bootstrap.close()
        meeting.close()
        results.put(told)
    except BaseException as error:
        results.put(error)


def in_processes(ranks: int, hosts: int, seed: int) -> list[str | BaseException]:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        arguments = (ranks, hosts, seed, str(Path(folder, "store")), results)
        processes = [context.Process(target=process_main, args=(rank, *arguments)) for rank in range(ranks)]
        for process in processes:
            process.start()
        told = [results.get(timeout=2 * TIMEOUT_S) for _ in processes]
        for process in processes:
            process.join(TIMEOUT_S)
    return told


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--processes", action="store_true")
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    os.environ["NCCL_SOCKET_IFNAME"] = "lo"
    if asked.processes:
        told = in_processes(asked.ranks, asked.hosts, asked.seed)
    else:
        told = on_ranks(asked.ranks, lambda bootstrap: run_cases(bootstrap, asked.hosts, asked.seed), TIMEOUT_S)
    wrong = [one for one in told if isinstance(one, BaseException)]
    for one in told:
        print(repr(one) if one in wrong else one)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
