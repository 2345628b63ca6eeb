# SPDX-License-Identifier: Apache-2.0
"""What `railgauge run` prints: nccl-tests' text as the rows come, or one JSON document at the end; progress on a tty;
and the verdict on its requirements and on the comparison with an older result.
"""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from railgauge.cli.json_text import json_text
from railgauge.cli.run import counters, judged
from railgauge.cli.run.replay import replay_lines, with_forecast
from railgauge.cli.run.result_file import ResultFile, write
from railgauge.cli.streams import show_progress, tell
from railgauge.collectives.document import RunDocument
from railgauge.collectives.job import Job
from railgauge.collectives.launch.launch import WORSE
from railgauge.collectives.report import nccl_tests
from railgauge.topo.errors import Error, UnavailableError, described, status_of
from railgauge.topo.findings.finding import Level
from railgauge.transports.select import NET_IB

if TYPE_CHECKING:
    from railgauge.cli.run.compare import Older
    from railgauge.collectives.comparison import Comparison
    from railgauge.topo.jobs.judge.judged_table import JudgedTable


class RunOutput:
    """The output of one process; only rank 0's process prints results."""

    def __init__(self, job: Job, files: Sequence[ResultFile], *, leads: bool, fail_on: Level = Level.WARN) -> None:
        self._job = job
        self._files = files
        self.older: Older | None = None
        self._leads = leads
        self._fail_on = fail_on
        self._rows = 0
        self._shows_progress = leads and job.json and sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Print the header or a row as it comes."""
        if not self._job.json:
            self._print(text)
        elif self._shows_progress and not text.startswith("#"):
            self._rows += 1
            total = len(self._job.sizes) * len(self._job.dtypes) * len(self._job.operators) * self._job.cycles
            show_progress(f"{self._rows}/{total} sizes measured")

    def finish(self, document: RunDocument | None, error: BaseException | None) -> int:
        """Print the end and return the exit status."""
        if document is None:
            if error and self._leads:
                print(f"railgauge run: {described(error)}", file=sys.stderr)
            return status_of(error)
        document = with_forecast(document)
        compared = self.older.compare(document) if self.older and not error else None
        unmet = [] if error else unmet_demands(self._job, document)
        if compared and not compared.rows:
            unmet.append("nothing to compare: no row was measured both then and now")
        document = document.with_error(described(error) if error else "; ".join(unmet) or None)
        if self._shows_progress and self._rows:
            print(file=sys.stderr)
        saved = self._save(document)
        verdict = None if error else judged.judged(document, self._job)
        shown = self._show(document, compared, verdict)
        broken = counters.tell(document.link_traffic or ())
        if document.error and not isinstance(error, BrokenPipeError):
            tell(f"railgauge run: {document.error}")
        worse = self._tell_worse(compared) or (WORSE if judged.fails(verdict, self._fail_on) else 0)
        return 4 if unmet else status_of(error) or broken or (0 if saved and shown else 3) or worse

    def _tell_worse(self, compared: "Comparison | None") -> int:
        """Return the exit status of a comparison; print the reason on stderr."""
        if not self.older or not compared or not compared.worse:
            return 0
        tell(f"railgauge run: {self.older.worst(compared)}")
        return WORSE

    def _print(self, text: str) -> None:
        """Write to stdout, and nothing more once its reader is gone or its disk is full."""
        try:
            print(text, flush=True)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):
                raise
            raise UnavailableError(f"cannot write to stdout: {error.strerror}") from None

    def _show(self, document: RunDocument, compared: "Comparison | None", verdict: "JudgedTable | None") -> bool:
        """Print the end of the table, or the document; return whether stdout took it."""
        try:
            if self._job.json:
                self._print(json_text(self._document(document, compared, verdict), indent=None))
            elif document.replay:
                self._print("\n".join(replay_lines(document)))
            elif document.rows:
                self._print(self._footer(document))
                if verdict:
                    self._print("\n".join(judged.lines(verdict)))
                if document.link_traffic is not None:
                    self._print(counters.text(document.link_traffic))
                if self.older and compared:
                    self._print(self.older.text(document, compared))
        except UnavailableError as problem:
            tell(f"railgauge run: {problem}")
            return False
        return True

    def _document(
        self, document: RunDocument, compared: "Comparison | None", verdict: "JudgedTable | None"
    ) -> dict[str, Any]:
        found = self.older.document(document, compared) if self.older and compared else document.to_json()
        return {**found, "judged": judged.content(verdict)} if verdict else found

    def _footer(self, document: RunDocument) -> str:
        wrong = sum(way.wrong or 0 for row in document.rows for way in (row.out_of_place, row.in_place))
        least = self._job.min_busbw
        enough = None if least is None else (nccl_tests.average_busbw(document.rows) or 0.0) >= least
        return nccl_tests.footer(self._job, document.rows, wrong, enough)

    def _save(self, document: RunDocument) -> bool:
        """Write all files; return whether all could be written."""
        saved = True
        for file in self._files:
            try:
                write(file, document, self.older.result if self.older else None)
            except Error as problem:
                tell(f"railgauge run: {problem}")
                saved = False
        return saved


def unmet_demands(job: Job, document: RunDocument) -> list[str]:
    """The requirements that the run did not meet. A required transport concerns only connections that moved bytes."""
    unmet = []
    average = nccl_tests.average_busbw(document.rows) or 0.0
    if job.min_busbw is not None and average < job.min_busbw:
        unmet.append(f"average bus bandwidth {average:.3g} GB/s is below the required {job.min_busbw:g} GB/s")
    if job.expect_transport is not None:
        ways = [(f"channel {c.channel}", c.via) for c in document.connections if c.bytes_sent != 0]
        ways += [(f"rank {b.rank}'s shared segment", b.via) for b in document.boards if b.bytes_shown]
        others = [f"{what} went via {via}" for what, via in ways if job.expect_transport not in via]
        if others or not ways:
            found = others[0] if others else "no data moved between ranks"
            why = f": {document.why_not_ib}" if NET_IB in job.expect_transport and document.why_not_ib else ""
            unmet.append(f"{found}, expected {job.expect_transport}{why}")
    unmet += counters.unmet(document.link_traffic or ())
    unmet += [
        f"channel {c.channel} from rank {c.from_rank} to {c.to_rank} went via {c.via}, planned: {c.planned}"
        for c in document.connections
        if c.planned not in (None, c.via)
    ]
    return unmet
