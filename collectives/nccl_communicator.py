# SPDX-License-Identifier: Apache-2.0
"""One rank's communicator of the installed NCCL, with one GPU."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from railgauge._native import collectives as native
from railgauge.collectives.bench import Ran
from railgauge.collectives.case import OperationCase
from railgauge.collectives.ending import running
from railgauge.collectives.nccl_debug_file import NcclDebugFile
from railgauge.collectives.nccl_library import open_nccl
from railgauge.collectives.operation import NUMBERS
from railgauge.topo.errors import MismatchError, UnavailableError
from railgauge.transports.bootstrap import Watch
from railgauge.transports.group import Group
from railgauge.transports.standing import BlockedOn, Standing

T = TypeVar("T")


class Opened(NamedTuple):
    """What the others have to know of a rank's NCCL."""

    version: str = ""
    id: bytes = b""
    """Of the communicator, from rank 0."""
    error: str | None = None
    """Why there is none."""


class NcclCommunicator:
    """Runs operations with NCCL, on raw pointers. Made by all ranks together; not for two threads at once."""

    def __init__(self, group: Group, device: int, *, register: int = 0, log: NcclDebugFile | None = None) -> None:
        """Connect to all ranks of the group.

        Args:
            group: of the ranks.
            device: CUDA's number of this rank's GPU in this process.
            register: nccl-tests' -R, how `memory` is registered: 0 not, 1 as buffers, 2 as symmetric windows.
            log: NCCL's output, which shows how operations are run.

        Raises:
            UnavailableError: on any rank there is no GPU, or no NCCL; all ranks raise it.
            MismatchError: ranks have different releases of NCCL.
            RunError: a rank was lost, or did not take part in time.
        """
        self.rank, self.size, self.device = group.rank, group.world_size, device
        self._group, self._register = group, register
        self._log, self._log_read = log, 0
        told: list[Opened] = group.all_gather(self._open(), Opened)
        if problems := [f"rank {rank}: {one.error}" for rank, one in enumerate(told) if one.error is not None]:
            raise UnavailableError("; ".join(problems))
        self.version = told[0].version
        for rank, one in enumerate(told):
            if one.version != self.version:
                raise MismatchError(f"rank {rank} has NCCL {one.version}, rank 0 {self.version}: install one version")
        self._watch = Watch(lambda: Standing(group.name, list(group.members), [], BlockedOn()), self._native.abort)
        group.job.attend(self._watch)
        self._native.connect(told[0].id)

    @property
    def timeout_s(self) -> float:
        """The longest wait in an operation."""
        return self._group.job.timeout_s

    def running(self, operation: Callable[[], T]) -> T:
        """The result of an operation; a failure is reported to all ranks, and what ended the run is raised."""
        return running(self._group.job, operation)

    def memory(self, size: int) -> native.GpuMemory:
        """Memory of this rank's GPU, registered as requested; all ranks ask for the same sizes in one order.

        Raises:
            UnavailableError: too little memory is left, or this NCCL is too old for the registration.
        """
        return self._native.allocate(size, self._register)

    def repeat(
        self, case: OperationCase, source: int, destination: int, *, ahead: int = 0, times: int = 1, replays: int = 0
    ) -> float:
        """Run a case `ahead` times untimed and then `times` times; the seconds of one of the latter on the GPU.

        With `replays` the `times` are a CUDA graph, which runs once untimed and then that many times.

        Raises:
            WaitTimeoutError: not finished within the timeout. UnavailableError: NCCL cannot run it, with the reason.
        """
        c = case
        how = NUMBERS[c.collective], source, destination, c.count, int(c.dtype), int(c.op), c.root
        return self._native.repeat(*how, ahead, times, replays)

    def ran(self, case: OperationCase, source: int, destination: int) -> Ran:
        """How the last operation was run, as far as NCCL reports it (`NcclDebugFile.last_choice`)."""
        told = None
        if self._log:
            told, self._log_read = self._log.last_choice(self._log_read)
        return told or Ran(None, None, None, 0.0)

    def close(self) -> None:
        """End it, once its memory is gone too; the others may still be busy."""
        self._group.job.dismiss(self._watch)

    def _open(self) -> Opened:
        try:
            library = open_nccl()
            self._native = native.NcclCommunicator(
                library, self.device, self.rank, self.size, self._group.job.timeout_s
            )
            return Opened(library.version, library.unique_id() if self.rank == 0 else b"")
        except UnavailableError as error:
            return Opened(error=str(error))
