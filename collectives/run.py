# SPDX-License-Identifier: Apache-2.0
"""One process's part of a run: its ranks join, connect over the plan, measure, and rank 0 reports."""

import contextlib
import itertools
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from railgauge import __version__
from railgauge.collectives import table
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.document import Connection, RunDocument, connections_of
from railgauge.collectives.job import Job, Place
from railgauge.collectives.measure import Meter, Row
from railgauge.collectives.plan import Plan, make_plan
from railgauge.topo.errors import RunError, UsageError, VerificationError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog

PLAN_WITHIN_S = 60.0
"""Rank 0 may take this much longer than the timeout to scan the machine: NVML can need many seconds."""
STOP_WITHIN_S = 2.0
"""How long the ranks of an interrupted process have to come out of the engine."""


@dataclass(slots=True)
class Outcome:
    """What rank 0 has to tell, as it comes in."""

    rows: list[Row] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    nodes: int = 1


@dataclass(frozen=True, slots=True)
class Finished:
    """How a process's part ended: rank 0's document (None elsewhere, or before ranks had met), and what went wrong."""

    document: RunDocument | None
    error: Exception | None


def run_process(job: Job, place: Place, say: Callable[[str], None]) -> Finished:
    """Run all ranks of this process. `say` takes the table's lines as they come (rank 0 only).

    Each rank has a thread, so that this one stays free for signals: an interrupt ends all ranks of the job.
    """
    first = place.process * job.ranks_per_process
    ranks = [_Rank(job, place, first + i, say) for i in range(job.ranks_per_process)]
    threads = [threading.Thread(target=rank.run, name=f"rank-{rank.rank}", daemon=True) for rank in ranks]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        for rank in ranks:
            rank.stop("interrupted")
        for thread in threads:
            thread.join(STOP_WITHIN_S)
        raise
    return Finished(ranks[0].document, _first_cause([rank.error for rank in ranks if rank.error]))


def _first_cause(errors: list[Exception]) -> Exception | None:
    """The error that the others follow from: ranks that were only told to stop have a RunError."""
    return next((error for error in errors if not isinstance(error, RunError)), errors[0] if errors else None)


class _Rank:
    """One rank's run."""

    def __init__(self, job: Job, place: Place, rank: int, say: Callable[[str], None]) -> None:
        self.rank = rank
        self.document: RunDocument | None = None
        self.error: Exception | None = None
        self._job = job
        self._place = place
        self._say = say if rank == 0 else lambda _line: None
        self._log = NcclLog(rank)
        self._bootstrap: Bootstrap | None = None

    def run(self) -> None:
        """Join, connect, measure and report; what went wrong is kept in `error`."""
        outcome = Outcome()
        try:
            self._bootstrap = self._join()
            self._measure(self._bootstrap, outcome)
        except Exception as error:
            self.error = error
            if not isinstance(error, RunError):
                self.stop(str(error))
        if self._bootstrap:
            with contextlib.suppress(OSError):
                self._bootstrap.close()
        if self.rank == 0:
            self.document = self._describe(outcome)

    def stop(self, reason: str) -> None:
        """End the run on all ranks."""
        if self._bootstrap:
            self._bootstrap.fail(reason)

    def _join(self) -> Bootstrap:
        place = self._place
        listener = None
        if self.rank == 0 and place.listen_fd is not None:
            listener = socket.socket(fileno=place.listen_fd)
        return Bootstrap.join(
            rank=self.rank,
            world_size=place.processes * self._job.ranks_per_process,
            address=place.address,
            timeout_s=self._job.timeout_s,
            listener=listener,
            version=__version__,
        )

    def _measure(self, bootstrap: Bootstrap, outcome: Outcome) -> None:
        host, port = self._place.address
        self._log.info("INIT", f"Bootstrap: Using {host}<{port}>", also="BOOTSTRAP")
        self._log.info("INIT", f"railgauge version {__version__}")
        plan = self._plan(bootstrap)
        self._check_fault(bootstrap.world_size, len(plan.rings))
        comm = Communicator(bootstrap, plan.rings, self._job.fault)
        outcome.nodes = len({p.host_id for p in comm.peers})
        self._log_connected(comm)
        _bind(plan.cpus[self.rank])
        meter = Meter(comm, bootstrap, self._job, plan.gb_per_s)
        self._say(table.header(self._job, comm.peers))
        self._scan(meter, outcome)
        outcome.connections = connections_of(comm, bootstrap, plan)
        fired = bootstrap.all_gather(comm.fault_fired())
        if meter.first_wrong:
            raise VerificationError(meter.first_wrong)
        if self._job.fault and not any(fired):
            raise RunError("the injected fault never came: that rank sends no such message on that channel")

    def _plan(self, bootstrap: Bootstrap) -> Plan:
        facts = None
        if self.rank == 0:
            facts = make_plan(bootstrap.world_size, self._job.graph_file, self._log).to_dict()
        return Plan(**bootstrap.broadcast(facts, limit_s=self._job.timeout_s + PLAN_WITHIN_S))

    def _check_fault(self, ranks: int, channels: int) -> None:
        fault = self._job.fault
        if fault and (fault.rank >= ranks or fault.channel >= channels):
            raise UsageError(
                f"--fault names rank {fault.rank}, channel {fault.channel}: "
                f"the run has {ranks} ranks on {channels} channels"
            )

    def _scan(self, meter: Meter, outcome: Outcome) -> None:
        for cycle in range(self._job.cycles) if self._job.cycles else itertools.count():
            for dtype in self._job.dtypes:
                for redop in self._job.redops:
                    for number, size in enumerate(self._job.sizes):
                        row = meter.row(size, dtype, redop, seed=1000 * cycle + number)
                        outcome.rows.append(row)
                        self._say(table.line(row))

    def _log_connected(self, comm: Communicator) -> None:
        total = len(comm.rings)
        for ends in comm.rings:
            if ends.next:
                there = ends.next.peer
                line = (
                    f"Channel {ends.channel:02d}/0 : {self.rank}[{self.rank}] -> {there}[{there}] via {ends.next.via}"
                )
                self._log.info("INIT", line, also=ends.next.via.split("/")[0])
        self._log.info("INIT", "Connected all rings", also="COLL")
        self._log.info(
            "INIT", f"{total} coll channels; rank {self.rank} nranks {comm.size} pid {os.getpid()} - Init COMPLETE"
        )

    def _describe(self, outcome: Outcome) -> RunDocument:
        return RunDocument(
            collective=self._job.collective,
            ranks=self._place.processes * self._job.ranks_per_process,
            nodes=outcome.nodes,
            device="cpu",
            rows=outcome.rows,
            connections=outcome.connections,
            error=str(self.error) if self.error else None,
            host=socket.gethostname(),
            time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            command=sys.argv[1:],
        )


def _bind(cpus: list[int]) -> None:
    """Bind the calling rank to its cores, as far as the process may use them."""
    if usable := os.sched_getaffinity(0) & set(cpus):
        os.sched_setaffinity(0, usable)
