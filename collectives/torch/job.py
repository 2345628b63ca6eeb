# SPDX-License-Identifier: Apache-2.0
"""What the groups of one rendezvous share: this process's membership, and the flight record of the process."""

import atexit
import contextlib
import logging
import os
import sys
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from railgauge._native.transports import keep
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.gpu_blocks import beside_computation
from railgauge.collectives.process_group import ProcessGroup, init_process_group
from railgauge.collectives.torch.errors import TorchErrors
from railgauge.collectives.torch.record import TorchRecord, record_asked
from railgauge.collectives.torch.store import TorchStore
from railgauge.topo.errors import UnavailableError

LOG = logging.getLogger(__name__)
OPEN: "weakref.WeakSet[TorchJob]" = weakref.WeakSet()


class TorchJob:
    """This process among all ranks of a group that was made through torch's store."""

    def __init__(
        self, store: Any, rank: int, size: int, members: Sequence[int], timeout: timedelta, device: int | None = None
    ) -> None:
        """Join; `members` are the ranks in torch's default group, `device` CUDA's number of this rank's GPU.

        Raises:
            DistBackendError: some ranks did not join within `timeout`; the message names them. ValueError: the
            timeout, or a setting, is invalid.
        """
        self.store, self.rank, self.size, self.timeout = store, rank, size, timeout
        self.members = members
        self.record: TorchRecord | None = next((job.record for job in OPEN), None) or record_asked()
        with TorchErrors(f"rank {rank}: joining"):
            self.process_group: ProcessGroup = init_process_group(
                store=TorchStore(store, timeout),
                rank=rank,
                world_size=size,
                timeout=timeout,
                bind=False,
                device=device,
                max_ctas=beside_computation(os.environ),
            )
        if self.record:
            self.record.rank = members[rank]
        OPEN.add(self)

    @property
    def communicator(self) -> Communicator:
        """That of all ranks, in host memory."""
        made = self.process_group.communicator
        assert isinstance(made, Communicator)
        return made

    def write_record(self) -> None:
        """Write the flight record, where one is kept; a folder that cannot be written to is logged."""
        try:
            if self.record:
                self.record.write()
        except UnavailableError as error:
            LOG.warning("railgauge: no flight record: %s", error)

    def close(self, error: BaseException | None = None) -> None:
        """Leave; after an error, which is reported to the others, without waiting for them. May be called twice."""
        if self in OPEN:
            OPEN.discard(self)
            self.write_record()
            self.process_group.__exit__(type(error) if error else None, error, None)


@atexit.register
def _leave_at_exit() -> None:
    """Leave what a program left open: scripts that end without destroy_process_group are common, and torch may hold a
    group of theirs to the end.
    """
    for job in tuple(OPEN):
        keep(job)
        with contextlib.suppress(Exception):
            job.close(getattr(sys, "last_value", None))
