# SPDX-License-Identifier: Apache-2.0
"""One process's part in measuring links: it joins as one rank, measures, and rank 0 reports."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from railgauge.collectives.launch.arrival import arrive
from railgauge.collectives.launch.place import Place
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.link_result import LinkResult
from railgauge.collectives.link.measurement import Say, measure
from railgauge.topo.errors import INTERRUPTED, RunError, described
from railgauge.transports.rendezvous import Rendezvous


@dataclass(frozen=True, slots=True)
class Taken:
    """How a process's part ended."""

    result: LinkResult
    """The results so far."""
    error: BaseException | None
    joined: bool
    """It had joined, so rank 0 reports its error."""


def take_part(job: LinkJob, place: Place, say: Say, report: Callable[[Taken], int]) -> int:
    """Run this process's rank; returns what `report` returns.

    It is called before this rank leaves: a launcher that sees one process fail ends the others.
    """
    result = LinkResult(job=job)
    with contextlib.ExitStack() as stack:
        try:
            rendezvous = stack.enter_context(arrive(place, ranks_per_process=1, timeout_s=job.timeout_s))
            taken = _measured(rendezvous, place.process, result, say)
        except Exception as error:
            taken = Taken(result, error, joined=False)
        return report(taken)


def _measured(rendezvous: Rendezvous, rank: int, result: LinkResult, say: Say) -> Taken:
    try:
        bootstrap = rendezvous.join(rank)
    except Exception as error:
        return Taken(result, error, joined=False)
    try:
        measure(bootstrap, result.job, result, say)
    except Exception as error:
        if not isinstance(error, RunError):
            bootstrap.fail(described(error))
        return Taken(result, error, joined=True)
    except KeyboardInterrupt as stop:
        rendezvous.fail(INTERRUPTED)
        return Taken(result, stop, joined=True)
    finally:
        with contextlib.suppress(OSError):
            bootstrap.close()
    return Taken(result, None, joined=True)
