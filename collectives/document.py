# SPDX-License-Identifier: Apache-2.0
"""The run document (schema railgauge/run/1): what `run --json` prints."""

import socket
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from railgauge import __version__
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.device import Device
from railgauge.collectives.engine import Engine
from railgauge.collectives.launch.tether import command_line
from railgauge.collectives.measure import Row
from railgauge.collectives.nccl_facts import NcclFacts
from railgauge.collectives.replay import ReplayRow
from railgauge.collectives.report.nccl_tests import average_busbw
from railgauge.collectives.tuning_file import Timed
from railgauge.topo.errors import RunError, verdict_of
from railgauge.topo.findings.traffic.link_traffic import LinkTraffic
from railgauge.topo.findings.traffic.rules import findings
from railgauge.topo.render.findings import record
from railgauge.topo.values.printable import one_line
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.select import SHM

if TYPE_CHECKING:
    from railgauge.collectives.gpu_communicator import GpuCommunicator

SCHEMA = "railgauge/run/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """One connection, as the objects at both its ends report it after the run."""

    channel: int
    from_rank: int
    to_rank: int
    via: str
    planned: str | None
    """None for NCCL's connections: NCCL plans by itself, and reports no bytes."""
    bytes_sent: int | None
    bytes_received: int | None

    def to_json(self) -> dict[str, Any]:
        """With the contract's names."""
        return {
            "channel": self.channel,
            "from": self.from_rank,
            "to": self.to_rank,
            "via": self.via,
            "planned": self.planned,
            "bytes_sent": self.bytes_sent,
            "bytes_received": self.bytes_received,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedSegment:
    """What a rank has put into its shared segment, which is not a connection to a single rank."""

    rank: int
    via: str
    bytes_shown: int


def boards_of(comm: Communicator, bootstrap: Bootstrap) -> tuple[SharedSegment, ...]:
    """Gather what all ranks have shown; of those that have a board."""
    shown = enumerate(bootstrap.all_gather(comm.bytes_shown, int | None))
    return tuple(SharedSegment(rank=rank, via=SHM, bytes_shown=number) for rank, number in shown if number is not None)


def gpu_connections_of(comm: "GpuCommunicator", bootstrap: Bootstrap) -> list[Connection]:
    """Gather how all ranks' GPUs reach each other, and what both ends count; all channels of two ranks use one path.

    Raises:
        RunError: the two ends disagree on the bytes moved.
    """
    mine = [(end.peer, end.via, end.sent, end.received) for end in comm.ends]
    told = bootstrap.all_gather(mine, list[tuple[int, str, int, int]])
    received = {(peer, rank): count for rank, ends in enumerate(told) for peer, _, _, count in ends}
    return _agreeing(
        Connection(
            channel=0,
            from_rank=rank,
            to_rank=peer,
            via=via,
            planned=via,
            bytes_sent=sent,
            bytes_received=received.get((rank, peer)),
        )
        for rank, ends in enumerate(told)
        for peer, via, sent, _ in ends
    )


def connections_of(comm: Communicator, bootstrap: Bootstrap) -> list[Connection]:
    """Gather all ranks' connections, by channel and sender, beside what was planned for them.

    Raises:
        RunError: the two ends of a connection disagree on the bytes moved.
    """
    mine = [
        (wire.channel, wire.source, wire.target, wire.planned, end.via, end.bytes) for wire, end in comm.ends.items()
    ]
    sent: dict[tuple[int, int, int], tuple[str, str, int]] = {}
    received: dict[tuple[int, int, int], int] = {}
    for rank, ends in enumerate(bootstrap.all_gather(mine, list[tuple[int, int, int, str, str, int]])):
        for channel, source, target, planned, via, moved in ends:
            if source == rank:
                sent[channel, source, target] = (planned, via, moved)
            else:
                received[channel, source, target] = moved
    return _agreeing(
        Connection(
            channel=name[0],
            from_rank=name[1],
            to_rank=name[2],
            via=via,
            planned=planned,
            bytes_sent=moved,
            bytes_received=received.get(name),
        )
        for name, (planned, via, moved) in sent.items()
    )


def _agreeing(found: Iterable[Connection]) -> list[Connection]:
    connections = list(found)
    for c in connections:
        if c.bytes_sent != c.bytes_received:
            raise RunError(
                f"channel {c.channel}: rank {c.from_rank} sent {c.bytes_sent} bytes to rank {c.to_rank}, "
                f"which received {c.bytes_received}"
            )
    return sorted(connections, key=lambda c: (c.channel, c.from_rank))


@dataclass(frozen=True, kw_only=True, slots=True)
class RunDocument:
    """A run's result; `error` says what failed, None when nothing did."""

    collective: str
    ranks: int
    nodes: int
    device: str
    rows: list[Row]
    connections: list[Connection]
    error: str | None
    host: str
    time: str
    command: list[str]
    planned_gb_per_s: float | None = None
    """What all planned channels carry together; None before there was a plan."""
    boards: tuple[SharedSegment, ...] = ()
    why_not_ib: str | None = None
    """Why hosts did not use NET/IB; None if they did, or with one host."""
    timed: tuple[Timed, ...] = ()
    """What --tune measured; `measured` in the document, which is not read back."""
    link_traffic: list[LinkTraffic] | None = None
    """The link traffic of all hosts; None where it was not requested. `counters` in the document, likewise."""
    replay: tuple[ReplayRow, ...] = ()
    """What --trace replayed; not read back."""
    engine: str = Engine.RAILGAUGE
    of_nccl: NcclFacts | None = None
    """What NCCL reported about itself, where it was the engine; `nccl` in the document, likewise."""

    @classmethod
    def failed(cls, collective: str, ranks: int, error: str, engine: Engine = Engine.RAILGAUGE) -> "RunDocument":
        """The document of a run, from the parts that every run has."""
        return cls(
            collective=collective,
            ranks=ranks,
            nodes=1,
            device=Device.CUDA if engine is Engine.NCCL else Device.CPU,
            rows=[],
            connections=[],
            error=error,
            engine=engine,
            host=one_line(socket.gethostname()),
            time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            command=command_line(),
        )

    def with_error(self, error: str | None) -> "RunDocument":
        """The same run with another verdict."""
        return replace(self, error=error)

    def to_json(self) -> dict[str, Any]:
        """The document as one JSON value."""
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "version": __version__,
            "host": self.host,
            "time": self.time,
            "command": self.command,
            "status": verdict_of(self.error),
            "collective": self.collective,
            "ranks": self.ranks,
            "nodes": self.nodes,
            "device": self.device,
            "engine": self.engine,
            "rows": [asdict(row) for row in self.rows],
            "avg_busbw_gb_per_s": average_busbw(self.rows),
            "planned_gb_per_s": self.planned_gb_per_s,
            "connections": [connection.to_json() for connection in self.connections],
            "boards": [asdict(board) for board in self.boards],
        }
        if self.why_not_ib:
            document["why_not_ib"] = self.why_not_ib
        if self.link_traffic is not None:
            document["counters"] = {
                "links": [each.to_json() for each in self.link_traffic],
                "findings": [record(finding) for finding in findings(self.link_traffic)],
            }
        if self.of_nccl:
            document["nccl"] = self.of_nccl.to_json()
        if self.replay:
            document["replay"] = [asdict(row) for row in self.replay]
        if self.timed:
            document["measured"] = [timed.facts for timed in self.timed]
        if self.error:
            document["error"] = self.error
        return document
