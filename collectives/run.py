# SPDX-License-Identifier: Apache-2.0
"""One process's part of a run: its ranks join, connect over the plan, measure, and rank 0 reports."""

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railgauge import __version__
from railgauge.collectives.binding import bound
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.connect import connect
from railgauge.collectives.counters import Counters
from railgauge.collectives.device import Device, Gpu, check_on_gpus, gpu_of, resolve
from railgauge.collectives.document import (
    Connection,
    RunDocument,
    SharedSegment,
    boards_of,
    connections_of,
)
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.engine import Engine
from railgauge.collectives.host_bench import HostBench
from railgauge.collectives.job import Job
from railgauge.collectives.launch.arrival import arrive
from railgauge.collectives.launch.place import Place
from railgauge.collectives.launch.tether import command_line
from railgauge.collectives.measure import Meter, Row
from railgauge.collectives.nccl_facts import NcclFacts
from railgauge.collectives.plan import make_plan
from railgauge.collectives.record import Record, gather, make_record
from railgauge.collectives.replay import BenchOf, Ranks, Replay, ReplayRow
from railgauge.collectives.report import nccl_tests
from railgauge.collectives.tune import tune
from railgauge.collectives.tuning_file import Timed, TuningPlace, place_of
from railgauge.topo.errors import RunError, UsageError, VerificationError, described
from railgauge.topo.findings.traffic.link_traffic import LinkTraffic
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import SOCKETS, Network, choose_network
from railgauge.transports.peer import Peer, this_peer
from railgauge.transports.peers import exchange
from railgauge.transports.rendezvous import Rendezvous
from railgauge.transports.standing import Standing

if TYPE_CHECKING:
    from railgauge.collectives.gpu_run import GpuRun
    from railgauge.collectives.nccl_run import NcclRun

STOP_WITHIN_S = 2.0
"""How long the ranks of an interrupted process may take to leave the engine, in seconds."""


@dataclass(slots=True)
class Outcome:
    """The parts of rank 0's document, as they arrive."""

    rows: list[Row] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    boards: tuple[SharedSegment, ...] = ()
    link_traffic: list[LinkTraffic] | None = None
    nodes: int = 1
    device: Device = Device.CPU
    network: Network = SOCKETS
    planned_gb_per_s: float | None = None
    timed: list[Timed] = field(default_factory=list)
    timed_at: TuningPlace | None = None
    replay: list[ReplayRow] = field(default_factory=list)
    nccl: NcclFacts | None = None
    standings: dict[int, list[Standing]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finished:
    """How a process's part ended: rank 0's document (None elsewhere, or before the rendezvous), and the error."""

    document: RunDocument | None
    error: BaseException | None
    joined: bool
    """All its ranks had joined, so rank 0 reports their errors."""
    timed_at: TuningPlace | None = None
    """The machine of the document's times, once all are measured; in rank 0's process only."""
    record: Record | None = None
    """The flight record, if requested (`Job.record`); in rank 0's process only."""
    is_running: bool = False
    """Some of its ranks did not end when they were to."""


def run_process(job: Job, place: Place, say: Callable[[str], None], report: Callable[[Finished], int]) -> int:
    """Run all ranks of this process. `say` takes the table's lines one by one (rank 0 only), `report` the end.

    Returns what `report` returns. It is called before this process leaves: a launcher that sees one process fail ends
    the others. Each rank has a thread, so that this one can handle signals: an interrupt ends all ranks of the job.
    """
    with contextlib.ExitStack() as stack:
        try:
            arrival = arrive(place, ranks_per_process=job.ranks_per_process, timeout_s=job.timeout_s)
            finished = _run_ranks(job, place, stack.enter_context(arrival), say)
        except Exception as error:
            size, why = place.processes * job.ranks_per_process, described(error)
            document = RunDocument.failed(job.name, size, why, job.engine) if place.process == 0 else None
            finished = Finished(document, error, joined=False)
        return report(finished)


def _run_ranks(job: Job, place: Place, rendezvous: Rendezvous, say: Callable[[str], None]) -> Finished:
    first = place.process * job.ranks_per_process
    before = place.process if place.local_process is None else place.local_process
    locally = before * job.ranks_per_process
    ranks = [_Rank(job, rendezvous, first + i, locally + i, say) for i in range(job.ranks_per_process)]
    try:
        _run_threads(ranks, rendezvous)
    except KeyboardInterrupt as stop:
        cause: BaseException | None = stop
    else:
        cause = _first_cause([rank.error for rank in ranks if rank.error])
    joined = all(rank.joined for rank in ranks)
    document = ranks[0].document
    if place.process == 0 and cause and document is None:  # its rank does not return
        document = ranks[0].describe(cause)
    is_running = not all(rank.over.is_set() for rank in ranks)
    return Finished(document, cause, joined, ranks[0].timed_at, ranks[0].record, is_running)


def _run_threads(ranks: list["_Rank"], rendezvous: Rendezvous) -> None:
    threads = [threading.Thread(target=rank.run, name=f"rank-{rank.rank}", daemon=True) for rank in ranks]
    for thread in threads:
        thread.start()
    try:
        for rank in ranks:
            rank.over.wait()  # an interrupted Thread.join() marks the thread as ended (CPython 3.11)
    except BaseException:
        rendezvous.fail("interrupted")
        for rank in ranks:
            rank.over.wait(STOP_WITHIN_S)
        raise


def _first_cause(errors: list[BaseException]) -> BaseException | None:
    """The error that caused the others: ranks that were only stopped have a RunError."""
    return next((error for error in errors if not isinstance(error, RunError)), errors[0] if errors else None)


class _Rank:
    """One rank's run."""

    def __init__(
        self, job: Job, rendezvous: Rendezvous, rank: int, local_rank: int, say: Callable[[str], None]
    ) -> None:
        """`local_rank`: its number among those of its host, which selects its GPU."""
        self.rank = rank
        self._local_rank = local_rank
        self.document: RunDocument | None = None
        self.timed_at: TuningPlace | None = None
        self.record: Record | None = None
        self.error: BaseException | None = None
        self.over = threading.Event()
        self._job = job
        self._rendezvous = rendezvous
        self._say = say if rank == 0 else lambda _line: None
        self._log = NcclLog(rank)
        self._bootstrap: Bootstrap | None = None
        self._outcome = Outcome()

    def run(self) -> None:
        """Join, connect, measure and report; an error is kept in `error`, and `over` is set at the end."""
        try:
            self._run()
        except BaseException as error:
            self.error = self.error or error  # without it a rank that never ended would have passed
        finally:
            self.over.set()

    def _run(self) -> None:
        outcome = self._outcome
        try:
            self._bootstrap = self._rendezvous.join(self.rank)
            self._measure(self._bootstrap, outcome)
        except Exception as error:
            self.error = error
            if self._bootstrap and not isinstance(error, RunError):
                self._bootstrap.fail(described(error))
        if self._bootstrap:
            with contextlib.suppress(OSError):
                self._bootstrap.close()
        if self.rank == 0:
            self.document = self.describe(self.error)
            self.timed_at = outcome.timed_at
            if self._job.record:
                self.record = self._record(outcome)

    @property
    def joined(self) -> bool:
        """Whether it had joined."""
        return self._bootstrap is not None

    def _measure(self, bootstrap: Bootstrap, outcome: Outcome) -> None:
        self._log.info("INIT", f"railgauge version {__version__}")
        gpu = self._gpu()
        outcome.device = Device.CPU if gpu is None else Device.CUDA
        peers = exchange(bootstrap, self._peer(gpu))
        if self._job.engine is Engine.NCCL and gpu:
            outcome.nodes = len({peer.host_id for peer in peers})
            self._check_root(bootstrap.world_size)
            from railgauge.collectives.nccl_run import NcclRun  # other runs start without

            nccl = NcclRun(bootstrap, gpu.device, self._job)
            outcome.nccl = nccl.facts(peers)
            self._measure_by(nccl, bootstrap, peers, outcome.nccl.lines(), outcome)
            return
        network = outcome.network = choose_network(bootstrap, peers, self._log)
        plan = make_plan(
            bootstrap, peers, self._job.graph_file, self._log, network=network, save_capture=self._job.save_capture
        )
        outcome.nodes, outcome.planned_gb_per_s = plan.nodes, plan.gb_per_s
        if gpu:
            check_on_gpus(self._job)
        self._check_fault(bootstrap.world_size, len(plan.rings))
        self._check_root(bootstrap.world_size)
        binding = bound(peers, self.rank, plan.cpus[self.rank])
        if gpu:
            from railgauge.collectives.gpu_run import GpuRun

            gpus = GpuRun(bootstrap, peers, plan, network, gpu.device, self._job, self._log)
            with binding:
                if self._job.tune:
                    outcome.timed, outcome.timed_at = gpus.tune(self._say)
                    gpus.close()
                else:
                    self._measure_by(gpus, bootstrap, peers, gpus.remarks(), outcome)
            return
        if self._job.tune:
            with binding:
                outcome.timed = tune(bootstrap, peers, plan, [self._job.collective], say=self._say, network=network)
            outcome.timed_at = place_of(peers, network.name)
            return
        comm = connect(bootstrap, peers, plan, network, self._log, fault=self._job.fault)
        with binding:
            self._measure_on(comm, bootstrap, outcome)
            comm.close()  # before the others learn that this rank leaves

    def _gpu(self) -> Gpu | None:
        """This rank's GPU; None: it is in host memory."""
        if resolve(self._job.device) is Device.CPU:
            return None
        return gpu_of(self._local_rank, self._job.ranks_per_process)

    def _peer(self, gpu: Gpu | None) -> Peer:
        flags = self._job.agreed()
        if gpu is None:
            return this_peer(self.rank, flags=flags)
        return this_peer(self.rank, bus_id=gpu.bus_id, device=gpu.device, gpu=gpu.name, flags=flags)

    def _measure_by(
        self, run: "GpuRun | NcclRun", bootstrap: Bootstrap, peers: list[Peer], remarks: Sequence[str], outcome: Outcome
    ) -> None:
        meter = Meter(run.bench, bootstrap, self._job, lambda: None)
        self._say(nccl_tests.header(self._job, peers, remarks))
        wrong = self._measured(meter, bootstrap, run.bench_of, outcome)
        outcome.connections = run.connections()
        run.close()
        if wrong:
            raise VerificationError(wrong)

    def _measure_on(self, comm: Communicator, bootstrap: Bootstrap, outcome: Outcome) -> None:
        counters = (
            Counters(bootstrap, comm.peers, outcome.network) if bootstrap.broadcast(self._job.counters, bool) else None
        )
        bench = HostBench(comm, max(self._job.sizes), register=self._job.register > 0)
        meter = Meter(bench, bootstrap, self._job, comm.arm_fault)
        self._say(nccl_tests.header(self._job, comm.peers))

        def bench_of(ranks: Ranks, largest: int) -> HostBench | None:
            is_in = comm.rank in ranks
            everybody = ranks == tuple(range(comm.size))
            part = comm if everybody else comm.split(0 if is_in else None, ranks.index(comm.rank) if is_in else 0)
            return None if part is None else HostBench(part, largest, register=self._job.register > 0)

        wrong = self._measured(meter, bootstrap, bench_of, outcome)
        if bootstrap.broadcast(self._job.record, bool):
            outcome.standings = gather(bootstrap)
        outcome.connections, outcome.boards = connections_of(comm, bootstrap), boards_of(comm, bootstrap)
        if counters:
            outcome.link_traffic = counters.link_traffic(comm.ends, comm.bytes_shown or 0)
        fired = bootstrap.all_gather(comm.fault_fired(), bool)
        if wrong:
            raise VerificationError(wrong)
        if self._job.fault and not any(fired):
            raise RunError("the injected fault did not occur: that rank sends no such message on that channel")

    def _check_root(self, ranks: int) -> None:
        if self._job.root >= ranks:
            raise UsageError(f"-r {self._job.root}: ranks are 0 to {ranks - 1}")

    def _check_fault(self, ranks: int, channels: int) -> None:
        fault = self._job.fault
        if fault and (fault.rank >= ranks or fault.channel >= channels):
            raise UsageError(
                f"--fault names rank {fault.rank}, channel {fault.channel}: "
                f"the run has {ranks} ranks on {channels} channels"
            )

    def _measured(self, meter: Meter, bootstrap: Bootstrap, bench_of: BenchOf, outcome: Outcome) -> str | None:
        """Scan the sizes, or replay the trace; what is wrong first."""
        if not self._job.trace:
            self._scan(meter, outcome)
            return meter.first_wrong
        replay = Replay(self._job.trace, bootstrap, bench_of)
        outcome.replay = replay.run(warmup=self._job.warmup, check=self._job.check > 0)
        return replay.first_wrong

    def _scan(self, meter: Meter, outcome: Outcome) -> None:
        for cycle in range(self._job.cycles) if self._job.cycles else itertools.count():
            for dtype, redop, root in self._variants():
                for number, size in enumerate(self._job.sizes):
                    row = meter.row(size, dtype, redop, root, seed=1000 * cycle + number)
                    outcome.rows.append(row)
                    self._say(nccl_tests.line(row))

    def _variants(self) -> Iterable[tuple[Dtype, Redop, int]]:
        job = self._job
        return itertools.product(job.dtypes, job.operators, job.roots(self._rendezvous.world_size))

    def describe(self, error: BaseException | None) -> RunDocument:
        """What was found until now, by a run that ended with an error or without."""
        outcome = self._outcome
        return RunDocument(
            collective=self._job.name,
            ranks=self._rendezvous.world_size,
            nodes=outcome.nodes,
            device=outcome.device,
            engine=self._job.engine,
            of_nccl=outcome.nccl,
            rows=list(outcome.rows),
            connections=outcome.connections,
            boards=outcome.boards,
            why_not_ib=outcome.network.why_not_ib,
            link_traffic=outcome.link_traffic,
            error=described(error) if error else None,
            host=self._rendezvous.host,
            time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            command=command_line(),
            planned_gb_per_s=outcome.planned_gb_per_s,
            timed=tuple(outcome.timed),
            replay=tuple(outcome.replay),
        )

    def _record(self, outcome: Outcome) -> Record:
        standings = outcome.standings or self._rendezvous.standings
        error = described(self.error) if self.error else None
        return make_record(standings, self._rendezvous.world_size, error, self._rendezvous.host, command_line())
