# SPDX-License-Identifier: Apache-2.0
"""One GPU's process: `python -m benchmarks.gpu_vs_nccl.rank JOB`, JOB as JSON (`Job`), its place in the environment.

Rank 0 prints a line of JSON for each step that starts or is measured, so that its reader knows which one hangs.
"""

import json
import os
import random
import sys
from dataclasses import dataclass
from typing import Any

from benchmarks.gpu_vs_nccl.contenders import LAUNCHES, Contender, Plan, make_case

from railgauge._native import collectives as native
from railgauge.collectives.case import OperationCase
from railgauge.collectives.device import Gpu, gpu_of
from railgauge.collectives.launch.arrival import arrive
from railgauge.collectives.launch.place import find_place
from railgauge.collectives.link.copy_method import CopyMethod, Flow
from railgauge.topo.errors import Error, UnavailableError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange

FEWEST, MOST = 5, 200
"""Operations of a sample."""
COPIED_BYTES, COPIES = 256 << 20, 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What all ranks of one start measure."""

    collective: str
    sizes: list[int]
    contenders: list[str]
    repetitions: int
    seconds: float
    timeout_s: float
    seed: int
    copies: bool
    """Whether copies between the first two GPUs are timed, too."""


class Rank:
    """Measures a job on one rank."""

    def __init__(self, job: Job, bootstrap: Bootstrap, gpu: Gpu) -> None:
        self._job, self._bootstrap, self._gpu = job, bootstrap, gpu
        self._order = random.Random(job.seed)  # the same on all ranks
        peer = this_peer(bootstrap.rank, bus_id=gpu.bus_id, device=gpu.device, gpu=gpu.name)
        self._peers = exchange(bootstrap, peer)
        self._contenders: list[Contender] = []

    def run(self) -> None:
        """Measure all sizes, the contenders in an order that changes from turn to turn."""
        if self._job.copies:
            self._copies()
        for name in self._job.contenders:
            self._tell("begin", contender=name, size=self._job.sizes[0])
            try:
                one = Contender(name, self._bootstrap, self._peers, self._gpu, max(self._job.sizes))
            except UnavailableError as error:
                self._tell("missing", contender=name, reason=str(error))
                continue
            self._tell("version", contender=name, version=one.version, gpu=self._gpu.name)
            self._contenders.append(one)
        for size in self._job.sizes:
            self._size(make_case(self._job.collective, size, self._bootstrap.world_size))

    def _size(self, case: OperationCase) -> None:
        size = case.bytes(self._bootstrap.world_size)
        operations: dict[str, int] = {}
        for number, one in enumerate(tuple(self._contenders)):
            self._tell("begin", contender=one.name, size=size)
            wrong = sum(self._bootstrap.all_gather(one.wrong(case, 1000 * size + number), int))
            if wrong:
                self._tell("missing", contender=one.name, size=size, reason=f"{wrong} elements wrong")
                self._contenders.remove(one)
                continue
            once = self._slowest(one, case, Plan(FEWEST, 0))
            operations[one.name] = max(FEWEST, min(MOST, round(self._job.seconds / max(once, 1e-7))))
        for turn in range(self._job.repetitions):
            steps = [(one, launch) for one in self._contenders for launch in LAUNCHES]
            self._order.shuffle(steps)
            for one, launch in steps:
                self._tell("begin", contender=one.name, size=size)
                plan = Plan.of(operations[one.name], launch)
                us = self._slowest(one, case, plan) * 1e6
                self._tell(
                    "sample",
                    contender=one.name,
                    size=size,
                    launch=launch,
                    turn=turn,
                    us=us,
                    operations=plan.times * max(1, plan.replays),
                    **one.facts(case),
                )

    def _slowest(self, one: Contender, case: OperationCase, plan: Plan) -> float:
        """Seconds on the slowest rank."""
        self._bootstrap.barrier()
        seconds: list[float] = self._bootstrap.all_gather(one.seconds(case, plan), float)
        return max(seconds)

    def _copies(self) -> None:
        """Copies between the first two GPUs, both directions at once: the limit of peer-to-peer traffic."""
        self._tell("begin", contender="copies", size=COPIED_BYTES)
        if self._bootstrap.rank == 0:
            try:
                link = native.GpuLink(0, 1, COPIED_BYTES, True, self._job.timeout_s)
                seconds = min(link.seconds(CopyMethod.COPY_ENGINE, Flow.BOTH, COPIED_BYTES, COPIES) for _ in range(3))
                self._tell("copies", gb_per_s_each_way=COPIED_BYTES / seconds / 1e9)
            except Error as error:
                self._tell("missing", contender="copies", reason=str(error))
        self._bootstrap.barrier()

    def _tell(self, what: str, **facts: Any) -> None:
        if self._bootstrap.rank == 0:
            print(json.dumps({"what": what, **facts}), flush=True)


def main() -> int:
    """Run a rank; returns the exit status."""
    job = Job(**json.loads(sys.argv[1]))
    place = find_place(os.environ, None)
    if place is None:
        print("RANK and WORLD_SIZE are not set: __main__.py starts the ranks", file=sys.stderr)
        return 2
    try:
        with arrive(place, ranks_per_process=1, timeout_s=job.timeout_s) as rendezvous:
            bootstrap = rendezvous.join(place.process)
            Rank(job, bootstrap, gpu_of(int(os.environ["LOCAL_RANK"]), 1)).run()
            bootstrap.close()
    except Error as error:
        print(f"rank {place.process}: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # NCCL's communicators of lost peers wait when they are destroyed
