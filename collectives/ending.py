# SPDX-License-Identifier: Apache-2.0
"""How a communicator ends when connecting or an operation fails: it is reported to all ranks, which raise what ended
the run.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from railgauge.topo.errors import (
    AbortedError,
    MismatchError,
    PeerLostError,
    RunError,
    UnavailableError,
    WaitTimeoutError,
)
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.group import Group
from railgauge.transports.standing import Standing

T = TypeVar("T")


class Engaged(Protocol):
    """What runs a rank's operations."""

    @property
    def is_amid(self) -> bool:
        """Whether an operation has started and not ended: after an error no rank can continue then."""

    def standing(self) -> Standing:
        """The rank's state there."""


def running(job: Bootstrap, operation: Callable[[], T], aborted: Callable[[], AbortedError | None] = lambda: None) -> T:
    """The result of an operation; a failure is reported to all ranks, and what ended the run is raised. `aborted`: what
    this rank alone raises instead.
    """
    if failure := job.failure:
        raise failure.with_traceback(None)
    try:
        return operation()
    except RunError as error:
        if alone := aborted():
            raise alone.with_traceback(None) from None
        job.fail(str(error))
        raise job.wait_for_failure(error) from None


class Ending:
    """The failure of one rank's end of a communicator, once there is one."""

    def __init__(self, group: Group, engaged: Engaged) -> None:
        self._job = group.job
        self._rank = group.world_rank
        self._engaged = engaged
        self._failure: Exception | None = None
        self._aborted: AbortedError | None = None

    def abort(self) -> None:
        """This rank alone ends here: from now on operations raise it. For any thread."""
        self._aborted = self._aborted or AbortedError(f"rank {self._rank}: this communicator was aborted")

    @property
    def has_ended(self) -> bool:
        """Whether `check` raises."""
        return bool(self._aborted or self._failure or self._job.failure)

    def check(self) -> None:
        """Raise what ended the run, if it has ended."""
        if failure := self._aborted or self._failure or self._job.failure:
            raise failure.with_traceback(None)  # the traceback would grow with every call

    def give_up(self, error: WaitTimeoutError) -> Exception:
        """A caller waits no longer for an operation under way: report it to all ranks; returns what ended the run."""
        return self._told(error)

    def connecting(self, connect: Callable[[], T]) -> T:
        """The result of `connect`; a failure is reported to all ranks, and the first error of all is raised."""
        try:
            return connect()
        except RunError as error:
            self._job.fail(str(error))
            raise self._job.wait_for_failure(error) from None

    def running(self, operation: Callable[[], T]) -> T:
        """Run an operation; a failure is reported to all ranks, and what ended the run is raised."""
        try:
            return operation()
        except BaseException as error:
            self.end(error)
            raise

    def end(self, error: BaseException) -> None:
        """An operation ended by `error`: report it to all ranks, and raise what ended the run, if that is another
        error. A device that fails during an operation fails the run.

        A signal's handler, such as that of Ctrl-C, may raise anything; the others matter only where the operation had
        begun.
        """
        amid = self._engaged.is_amid
        if amid and isinstance(error, UnavailableError):
            error = RunError(str(error))
        if isinstance(error, RunError):
            raise self._told(error) from None
        if amid:
            self._failure = AbortedError(f"rank {self._rank} was interrupted by {type(error).__name__}")
            self._job.fail(str(self._failure))

    def _told(self, error: RunError) -> Exception:
        """Report a failed operation to all ranks; returns what ended the run, or this rank's part alone."""
        if self._aborted and not self._job.failure:
            return self._aborted
        self._failure = error
        if isinstance(error, AbortedError):
            pass
        elif isinstance(error, WaitTimeoutError):
            self._job.fail(str(error), self._engaged.standing().waits)
        elif isinstance(error, PeerLostError):
            self._job.fail(str(error), (self._rank if error.rank is None else error.rank, False))
        else:
            self._job.fail(str(error), mismatch=isinstance(error, MismatchError))
        self._failure = self._job.wait_for_failure(error)
        return self._failure
