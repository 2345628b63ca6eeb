# SPDX-License-Identifier: Apache-2.0
"""Several looks of RAS at one job: the last one counts; a state is stuck if the one before had it too.

Ranks of a job that runs call operations at different times, start communicators and leave them: each look may catch
some between (NCCL's user guide, Troubleshooting, RAS).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy

from railgauge.topo.jobs.hang.model import JobCommunicator, JobState, Status

SOURCE = "RAS"
PASSING = (Status.STARTING, Status.LEFT)
"""States that are wrong only when they last."""


class Looks:
    """The looks at one job, each read into `scene` inside of `look`."""

    def __init__(self, scene: JobState) -> None:
        self._scene = scene
        self._before: dict[str, JobCommunicator] | None = None

    @contextmanager
    def look(self) -> Iterator[None]:
        """While a report is read: the earlier report is kept apart, then compared. A failure changes nothing."""
        known, before = self._scene.communicators, self._before
        self._scene.communicators = {key: comm for key, comm in known.items() if SOURCE not in comm.sources}
        try:
            yield
        except BaseException:
            self._scene.communicators = known
            raise
        told = {key: comm for key, comm in self._scene.communicators.items() if SOURCE in comm.sources}
        self._before = deepcopy(told)
        if before is not None:
            for key, comm in told.items():
                _compare(before.get(key, JobCommunicator(comm.id)), comm)


def _compare(before: JobCommunicator, now: JobCommunicator) -> None:
    for name, lane in now.lanes.items():
        earlier = before.lane(name)
        for rank, track in lane.tracks.items():
            track.moved = rank not in earlier.tracks or earlier.tracks[rank].entered != track.entered
        lane.unnamed = dict(lane.unnamed.items() & earlier.unnamed.items())
    for rank, status in now.status.items():
        if status in PASSING and before.status.get(rank) is not status:
            now.status[rank] = Status.RUNNING
