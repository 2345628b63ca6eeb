# SPDX-License-Identifier: Apache-2.0
"""One rank's part of a run whose operations NCCL executes: its GPU, communicator and arrays, and what NCCL reported."""

import os
import threading
from collections.abc import Iterable, Mapping

from railgauge.collectives.document import Connection
from railgauge.collectives.gpu_bench import GpuBench
from railgauge.collectives.job import Job
from railgauge.collectives.nccl_communicator import NcclCommunicator
from railgauge.collectives.nccl_debug_file import NcclDebugFile
from railgauge.collectives.nccl_facts import NcclFacts
from railgauge.collectives.replay import PART, Ranks
from railgauge.topo.errors import InputError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.peer import Peer

FILES = ("NCCL_TOPO_FILE", "NCCL_GRAPH_FILE")
"""Files that NCCL reads; it reports a missing one only at INFO."""
_making = threading.Lock()
_debug_file: NcclDebugFile | None = None


class NcclRun:
    """What a rank measures with; all ranks make it in the same way."""

    def __init__(self, bootstrap: Bootstrap, device: int, job: Job) -> None:
        """Connect, over the files of the environment, or the --graph of the job; `device` is CUDA's number of the GPU.

        Raises:
            InputError: a file for NCCL does not exist. UnavailableError, MismatchError, RunError: as
            `NcclCommunicator`.
        """
        self._bootstrap = bootstrap
        self._register = job.register
        self._parts: list[NcclCommunicator] = []
        self._log = process_debug_file(job.graph_file)
        self._comm = NcclCommunicator(bootstrap, device, register=job.register, log=self._log)
        self.bench = GpuBench(
            self._comm, max(job.sizes), allocate=self._comm.memory, replays=job.replays, blocking=job.blocking
        )

    def facts(self, peers: Iterable[Peer]) -> NcclFacts:
        """What this process's NCCL has reported so far, and the GPUs of all ranks."""
        gpus = sorted({peer.gpu for peer in peers if peer.gpu})
        return NcclFacts.read(self._comm.version, self._log.log(), tuple(gpus))

    def bench_of(self, ranks: Ranks, largest: int) -> GpuBench | None:
        """The bench of some ranks, over a communicator of their own unless they are all; None on the others."""
        if ranks == tuple(range(self._comm.size)):
            return GpuBench(self._comm, largest, allocate=self._comm.memory)
        if self._bootstrap.rank not in ranks:
            return None
        group = self._bootstrap.subgroup(ranks, PART)
        part = NcclCommunicator(group, self._comm.device, register=self._register, log=self._log)
        self._parts.append(part)
        return GpuBench(part, largest, allocate=part.memory)

    def connections(self) -> list[Connection]:
        """The connections that all ranks' NCCL reported, by channel and sender; without plan and bytes."""
        kept = self._log.log().connections.kept
        mine = [(one.channel, one.source, one.target, one.via) for one in kept if one.channel >= 0]
        told = {one for each in self._bootstrap.all_gather(mine, list[tuple[int, int, int, str]]) for one in each}
        return [
            Connection(
                channel=channel,
                from_rank=source,
                to_rank=target,
                via=via,
                planned=None,
                bytes_sent=None,
                bytes_received=None,
            )
            for channel, source, target, via in sorted(told)
        ]

    def close(self) -> None:
        """End this rank's part."""
        for part in self._parts:
            part.close()
        self._comm.close()


def process_debug_file(graph_file: str | None) -> NcclDebugFile:
    """This process's, made by the first rank that asks: NCCL reads the environment once.

    Raises:
        InputError: a file that NCCL is to read does not exist.
    """
    global _debug_file
    with _making:
        if _debug_file is None:
            if graph_file:
                os.environ["NCCL_GRAPH_FILE"] = graph_file
            check_files(os.environ)
            _debug_file = NcclDebugFile(os.environ)
        return _debug_file


def check_files(environ: Mapping[str, str]) -> None:
    """Check that the files exist which NCCL is to read.

    Raises:
        InputError: one cannot be read.
    """
    for name in FILES:
        if (path := environ.get(name)) and not os.access(path, os.R_OK):
            raise InputError(f"{name}: NCCL cannot read it: no such file, or no permission", path)
