# SPDX-License-Identifier: Apache-2.0
"""Every pair of collective, type, operator, count, place and root on GPUs, against NumPy.

    python -m tests.gpu.matrix --ranks 2              # a thread for each GPU, in one process
    python -m tests.gpu.matrix --ranks 4 --processes --hosts 2
    python -m tests.gpu.matrix --ranks 16 --pairs     # what goes in pairs alone
    python -m tests.gpu.matrix --ranks 2 --registered symmetric  # on memory that all map
    RAILGAUGE_MULTICAST=1 python -m tests.gpu.matrix --ranks 4 --registered nvls  # with simulated GPUs only
    python -m tests.gpu.matrix --ranks 4 --one-gpu    # processes that take turns on one GPU: slow, but any number

Settings of the environment say how GPUs reach each other (NCCL_P2P_DISABLE, NCCL_TOPO_FILE). Prints how many cases
each rank ran; fails with what was wrong.
"""

import argparse
import multiprocessing
import os
import sys
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tests.collectives import oracle
from tests.gpu.fake_gpus import topology
from tests.gpu.on_gpu import OnGpu, RegisteredMemory, connected
from tests.patience import FAR_S
from tests.transports.ranks import meet_on, on_ranks

from railgauge.collectives.dtype import Redop
from railgauge.collectives.operation import NUMBERS
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.store.file_store import FileStore

REGISTERED = ("as it is", "symmetric", "nvls")
VECTORS = (1, 3, 61, 1009)
"""Lengths in 8 elements: whole words of 16 bytes of each type that NVSwitches add up."""


@dataclass(frozen=True)
class Asked:
    """The command line."""

    ranks: int
    hosts: int
    seed: int
    processes: bool
    one_gpu: bool
    pairs: bool
    registered: str

    @property
    def collectives(self) -> list[str]:
        found = [one for one in NUMBERS if one.in_pairs or not self.pairs]
        return found if self.registered else [*found, oracle.ALL_TO_ALL_V]

    @property
    def cases(self) -> list[oracle.Case]:
        if self.registered != "nvls":
            return oracle.cases(self.collectives, self.seed)
        return [
            oracle.Case(Collective.ALL_REDUCE, dtype, Redop.SUM, 8 * vectors, in_place, "first", guard=8)
            for dtype in ("float16", "bfloat16", "float32")
            for vectors in VECTORS
            for in_place in (False, True)
        ]


def run_cases(bootstrap: Bootstrap, asked: Asked) -> str:
    """One rank's part."""
    comm = connected(bootstrap, asked.hosts, shared=asked.one_gpu)
    largest = (max(oracle.COUNTS) + 64) * 8 * comm.size
    how = {"symmetric": asked.registered != "as it is", "nvls": asked.registered == "nvls"}
    memory = RegisteredMemory(comm, largest, **how) if asked.registered else None
    cases = asked.cases
    for number, case in enumerate(cases):
        oracle.run(OnGpu(comm, memory), case, asked.seed * 10000 + number)  # type: ignore[arg-type]
    told = f"rank {comm.rank}: {len(cases)} cases via {sorted({end.via for end in comm.ends})}"
    bootstrap.barrier()
    comm.close()
    return told


def process_main(rank: int, asked: Asked, path: str, results) -> None:
    try:
        store = FileStore(path, asked.ranks, timedelta(seconds=FAR_S))
        rendezvous = meet_on(store, rank, asked.ranks, timeout_s=FAR_S)
        bootstrap = rendezvous.join(rank)
        told = run_cases(bootstrap, asked)
        bootstrap.close()
        rendezvous.close()
        results.put(told)
    except BaseException as error:
        results.put(error)


def in_processes(asked: Asked) -> list[str | BaseException]:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        arguments = (asked, str(Path(folder, "store")), results)
        processes = [context.Process(target=process_main, args=(rank, *arguments)) for rank in range(asked.ranks)]
        for process in processes:
            process.start()
        told = [results.get(timeout=FAR_S) for _ in processes]
        for process in processes:
            process.join(FAR_S)
    return told


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--processes", action="store_true")
    parser.add_argument("--one-gpu", action="store_true")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--registered", choices=("", *REGISTERED), default="")
    parser.add_argument("--seed", type=int, default=1)
    asked = Asked(**vars(parser.parse_args()))
    os.environ["NCCL_SOCKET_IFNAME"] = "lo"
    if asked.one_gpu:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "topo.xml")
            file.write_text(topology(asked.ranks))
            os.environ["NCCL_TOPO_FILE"] = str(file)
            told = in_processes(asked)
    elif asked.processes:
        told = in_processes(asked)
    else:
        told = on_ranks(asked.ranks, lambda bootstrap: run_cases(bootstrap, asked), FAR_S)
    wrong = [one for one in told if isinstance(one, BaseException)]
    for one in told:
        print(repr(one) if one in wrong else one)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
