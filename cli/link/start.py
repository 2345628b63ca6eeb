# SPDX-License-Identifier: Apache-2.0
"""Starts `railgauge link`: it launches the ranks, or it is one of them."""

import os
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railgauge.cli.output import check_folders
from railgauge.cli.ranks_start import Start, launch_of, launch_ranks, own_place, speaks
from railgauge.cli.streams import show_progress, tell
from railgauge.collectives.launch.place import Place
from railgauge.collectives.launch.tether import die_with_parent, hear_interrupts_once, report_is_out
from railgauge.collectives.link.link_job import LinkJob
from railgauge.topo.errors import INTERRUPTED, RunError, UsageError, described, status_of
from railgauge.topo.findings.finding import Level

if TYPE_CHECKING:
    from railgauge.collectives.link.expected import OlderLinks
    from railgauge.collectives.link.process import Taken

SUFFIXES = (".json", ".csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAnswer:
    """Where a result goes, and what it has to reach."""

    json: bool
    files: tuple[str, ...]
    min_gb_per_s: float | None
    against: str | None
    fail_on: Level

    def __post_init__(self) -> None:
        for path in self.files:
            if not path.lower().endswith(SUFFIXES):
                raise UsageError(f"-o {path}: use a name that ends in {' or '.join(SUFFIXES)}")


def start(job: LinkJob, asked: Start, answer: LinkAnswer) -> int:
    """Launch the ranks or be one; return the exit status.

    Raises:
        UsageError: the options and the environment contradict each other. UnavailableError: a file cannot be written.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # ranks write to sockets: a reader that is gone has to be an error
    place = own_place(asked, 1)
    return launch(job, asked, answer) if place is None else measure_here(job, place, answer)


def older_links(answer: LinkAnswer) -> "OlderLinks | None":
    """The result to compare with. InputError: it cannot be read, or is none."""
    if answer.against is None:
        return None
    from railgauge.collectives.link.expected import load_older

    return load_older(answer.against)


def launch(job: LinkJob, asked: Start, answer: LinkAnswer) -> int:
    """Start the ranks through the launcher and wait for them."""
    plan = launch_of(asked, 1, job.timeout_s)
    if not plan.hosts:
        check_folders(answer.files)
        older_links(answer)
    ended = launch_ranks(asked, plan)
    interrupted = ended.status == status_of(KeyboardInterrupt())
    if not ended.reported and ended.status and (answer.json or answer.files or (ended.message and not interrupted)):
        from railgauge.cli.link.output import finish
        from railgauge.collectives.link.link_result import LinkResult

        message = INTERRUPTED if interrupted else ended.message or "the measurement failed before it had a result"
        finish(LinkResult(job=job), RunError(message), answer)
    elif ended.message and not interrupted:
        tell(f"railgauge link: {ended.message}")
    return ended.status


def measure_here(job: LinkJob, place: Place, answer: LinkAnswer) -> int:
    """Run this process's rank; rank 0 prints the result, another one only what rank 0 cannot report."""
    from railgauge.cli.link.output import finish
    from railgauge.collectives.link.process import take_part
    from railgauge.transports.tcp import allow_many_files

    die_with_parent()
    hear_interrupts_once()
    allow_many_files()
    leads = place.process == 0
    older = None
    if leads:
        check_folders(answer.files)
        older = older_links(answer)

    def say(text: str) -> None:
        if leads:
            show_progress(text)

    def report(taken: "Taken") -> int:
        say("")
        if leads:
            return finish(taken.result, taken.error, answer, older)
        if taken.error and speaks(taken.error, place, 1, joined=taken.joined):
            tell(f"railgauge link: rank {place.process}: {described(taken.error)}")
        return status_of(taken.error)

    try:
        status = take_part(job, place, say, report)
    except BrokenPipeError:  # the reader of our stdout is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 128 + signal.SIGPIPE
    if leads:
        report_is_out()
    return status
