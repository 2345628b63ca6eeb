# SPDX-License-Identifier: Apache-2.0
"""One rank's part of a run on GPUs with our own engine: its communicator and arrays, or their tuning."""

from collections.abc import Callable, Sequence

from railgauge.collectives import gpu_tuning
from railgauge.collectives.connect import connect_gpus
from railgauge.collectives.document import Connection, gpu_connections_of
from railgauge.collectives.gpu_bench import GpuBench, registered
from railgauge.collectives.job import Job
from railgauge.collectives.plan import Plan
from railgauge.collectives.replay import Ranks
from railgauge.collectives.tuning_file import Timed, TuningPlace
from railgauge.topo.errors import UsageError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import Network
from railgauge.transports.peer import Peer


class GpuRun:
    """What a rank measures with; all ranks make it in the same way."""

    def __init__(
        self,
        bootstrap: Bootstrap,
        peers: Sequence[Peer],
        plan: Plan,
        network: Network,
        device: int,
        job: Job,
        log: NcclLog,
    ) -> None:
        """Connect over the plan and its network; `device` is CUDA's number of the GPU.

        Raises:
            UnavailableError, RunError: as `GpuCommunicator`.
        """
        self._bootstrap, self._job = bootstrap, job
        in_channels = job.graph_file is not None
        self._comm = connect_gpus(
            bootstrap, peers, plan, network, device, log, in_channels=in_channels, tuned=not job.tune
        )
        if not job.tune:
            allocate = registered(self._comm, job.register)
            self.bench = GpuBench(
                self._comm, max(job.sizes), replays=job.replays, blocking=job.blocking, allocate=allocate
            )

    def remarks(self) -> list[str]:
        """For the head of the table."""
        if not self._job.register or self._comm.maps_all:
            return []
        return [f"# -R {self._job.register} has no effect: not all GPUs map each other's memory"]

    def bench_of(self, ranks: Ranks, largest: int) -> GpuBench:
        """The bench of all ranks for a replay.

        Raises:
            UsageError: the group has not all ranks in their order.
        """
        if ranks != tuple(range(self._comm.size)):
            raise UsageError(
                f"--trace has a group of {len(ranks)} of {self._comm.size} ranks, and between GPUs our engine runs all "
                "ranks together: --engine nccl replays such groups, and --device cpu does in host memory"
            )
        return GpuBench(self._comm, largest, allocate=registered(self._comm, self._job.register))

    def tune(self, say: Callable[[str], None]) -> tuple[list[Timed], TuningPlace]:
        """The times of all launches, and the machine they belong to; `say` takes a line for each size. As
        `gpu_tuning.tune_gpus`.
        """
        timed = gpu_tuning.tune_gpus(self._comm, self._bootstrap, self._job.collective, say=say)
        return timed, gpu_tuning.place_of(self._comm)

    def connections(self) -> list[Connection]:
        """All ranks' paths to each other, and the bytes moved over them."""
        return gpu_connections_of(self._comm, self._bootstrap)

    def close(self) -> None:
        """End this rank's part."""
        self._comm.close()
