# SPDX-License-Identifier: Apache-2.0
"""The contenders: our engine, and NCCL on plain, registered and symmetric memory."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.gpu_vs_nccl.results import OWN, OWN_SYMMETRIC

from railgauge._native import collectives as native
from railgauge.collectives.case import OperationCase
from railgauge.collectives.connect import connect_gpus
from railgauge.collectives.device import Gpu
from railgauge.collectives.dtype import Dtype, PatternKind, Redop
from railgauge.collectives.gpu_arrays import GpuArrays
from railgauge.collectives.gpu_bench import registered
from railgauge.collectives.gpu_communicator import GpuCommunicator
from railgauge.collectives.nccl_communicator import NcclCommunicator
from railgauge.collectives.operation import IN_PLACE, count_of
from railgauge.collectives.plan import make_plan
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import SOCKETS
from railgauge.transports.peer import Peer

REGISTRATION = {"nccl": 0, "nccl-registered": 1, "nccl-symmetric": 2}
"""nccl-tests' -R of each."""
CONTENDERS = (OWN, OWN_SYMMETRIC, *REGISTRATION)
LAUNCHES = ("stream", "graph")
IN_A_GRAPH = 20
"""Operations, at most."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How many operations a sample has, and how often a graph of them runs; 0: they go on the stream one by one."""

    times: int
    replays: int

    @classmethod
    def of(cls, operations: int, launch: str) -> "Plan":
        """Approximate total number of operations."""
        if launch != "graph":
            return cls(operations, 0)
        times = min(operations, IN_A_GRAPH)
        return cls(times, max(1, operations // times))


def make_case(collective: str, size: int, ranks: int) -> OperationCase:
    """float32, sum; a root is the last rank."""
    name = Collective(collective)
    count = count_of(name, size, Dtype.FLOAT.bytes, ranks)
    return OperationCase(collective=name, count=count, dtype=Dtype.FLOAT, op=Redop.SUM, root=ranks - 1)


class Contender:
    """One of them on one rank, with arrays of its own; all ranks make and call it in the same way."""

    def __init__(self, name: str, bootstrap: Bootstrap, peers: list[Peer], gpu: Gpu, largest: int) -> None:
        """Connect.

        Raises:
            UnavailableError: no NCCL, one too old for its kind of memory, or too little memory; on all ranks.
            RunError: a rank was lost.
        """
        self.name, self.rank, self.ranks = name, bootstrap.rank, bootstrap.world_size
        self._comm: GpuCommunicator | NcclCommunicator
        allocate: Callable[[int], native.GpuMemory] | None = None
        if name in (OWN, OWN_SYMMETRIC):
            log = NcclLog(bootstrap.rank)
            plan = make_plan(bootstrap, peers, None, log)
            self._comm = comm = connect_gpus(bootstrap, peers, plan, SOCKETS, gpu.device, log)
            allocate = registered(comm, 2 * (name == OWN_SYMMETRIC))
            self.version = ""
        else:
            nccl = NcclCommunicator(bootstrap, gpu.device, register=REGISTRATION[name])
            self._comm, allocate, self.version = nccl, nccl.memory, nccl.version
        self._arrays = GpuArrays(gpu.device, largest, self.rank, self.ranks, allocate)

    def wrong(self, case: OperationCase, seed: int) -> int:
        """Run it once on fresh data; returns how many elements of this rank are wrong."""
        kind, in_place = PatternKind.EXACT, case.collective in IN_PLACE
        pattern = native.Pattern(self.ranks, case.dtype, case.op, seed, kind)
        self._arrays.fill(case, pattern, in_place=in_place)
        self._run(case, ahead=0, plan=Plan(1, 0))
        return self._arrays.verify(case, pattern, kind, in_place=in_place).wrong

    def seconds(self, case: OperationCase, plan: Plan) -> float:
        """The time of an operation on this rank's GPU, in place if possible; an untimed one goes first."""
        return self._run(case, ahead=1, plan=plan)

    def facts(self, case: OperationCase) -> dict[str, object]:
        """How it is run, and the prediction, if known."""
        if isinstance(self._comm, NcclCommunicator):
            return {}
        ran = self._comm.ran(case, *self._arrays.pointers(case, in_place=case.collective in IN_PLACE))
        return {
            "algorithm": ran.algorithm,
            "protocol": ran.protocol,
            "predicted_busbw_gb_per_s": ran.predicted_busbw_gb_per_s or None,
        }

    def _run(self, case: OperationCase, *, ahead: int, plan: Plan) -> float:
        where = self._arrays.pointers(case, in_place=case.collective in IN_PLACE)
        return self._comm.repeat(case, *where, ahead=ahead, times=plan.times, replays=plan.replays)
