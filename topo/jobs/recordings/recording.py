# SPDX-License-Identifier: Apache-2.0
"""Reads one recording: the process, its communicators, the variables that NCCL read, and the records.

The file may be one that is being written, or that of a process that was killed: a record counts when both its ends
agree on its number.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.recordings import layout
from railgauge.topo.jobs.recordings.layout import RecordingLevel
from railgauge.topo.jobs.recordings.magic import is_recording
from railgauge.topo.values.printable import one_line

Array = npt.NDArray[Any]
NO_NUMBER = 1 << 30
"""Ranks and sizes beyond it are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCommunicator:
    """A communicator of a process. rank and size: -1 unknown (NCCL before 2.27, which has not called anything yet).

    operations: collectives that were enqueued, also those whose records are lost.
    """

    slot: int
    hash: int
    name: str
    rank: int
    size: int
    nodes: int
    bus_id: str
    is_finalized: bool
    operations: int

    @property
    def id(self) -> str:
        """As NCCL's log has it."""
        return f"0x{self.hash:x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedVariable:
    """A variable that NCCL read; value: None if it was not set, cut after 175 bytes."""

    name: str
    value: str | None
    origin: str
    reads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A process of a job. nccl: "" if unknown. lost: records that newer ones replaced, or that were refused.

    variables: None if its NCCL has no environment plugins. records: of layout.RECORD, by their numbers; times in ns of
    the host's monotonic clock, which `offset_ns` turns into Unix time. job_rank: -1 if no launcher has set it.
    """

    path: str
    host: str
    boot_id: str
    pid: int
    program: str
    nccl: str
    profiler: int
    level: RecordingLevel
    every: int
    lost: int
    job_rank: int
    job_size: int
    offset_ns: int
    communicators: tuple[RecordedCommunicator, ...]
    variables: tuple[RecordedVariable, ...] | None
    names: tuple[tuple[str, ...], ...]
    records: Array

    @property
    def title(self) -> str:
        """`gpu-03 process 4711`."""
        return f"{self.host} process {self.pid}"

    def named(self, table: int, code: int) -> str:
        """The name of a function (0), type (1), algorithm (2) or protocol (3); "" for none."""
        return self.names[table][code] if code < len(self.names[table]) else ""


def parse_recording(data: bytes, path: str) -> Recording:
    """The recording in a file's bytes; InputError for another file, or another version of the format."""
    if not is_recording(data):
        raise InputError("not a recording of `railgauge nccl`", path)
    if len(data) < layout.RING_OFFSET:
        raise InputError(f"cut off: {len(data)} bytes of a header of {layout.RING_OFFSET}", path)
    header = np.frombuffer(data, layout.HEADER, 1)[0]
    if header["version"] != layout.VERSION:
        raise InputError(f"a recording of version {header['version']}: this railgauge reads {layout.VERSION}", path)
    expected = layout.RING_OFFSET, layout.RECORD.itemsize
    if (header["ring_offset"], header["record_bytes"]) != expected or not 1 <= header["level"] <= max(RecordingLevel):
        raise InputError("damaged header of a recording", path)
    records, lost = _records(data, header)
    return Recording(
        path=path,
        host=_text(header["host"]),
        boot_id=_text(header["boot_id"]),
        pid=int(header["pid"]),
        program=_text(header["program"]),
        nccl=_release(int(header["nccl"])),
        profiler=int(header["profiler"]),
        level=RecordingLevel(int(header["level"])),
        every=max(1, int(header["every"])),
        lost=lost,
        job_rank=_rank(header["job_rank"]),
        job_size=_rank(header["job_size"]),
        offset_ns=int(header["realtime_ns"]) - int(header["monotonic_ns"]),
        communicators=tuple(_communicators(data)),
        variables=tuple(_variables(data)) if header["environment"] else None,
        names=tuple(tuple(map(_text, table)) for table in _names(data)),
        records=records,
    )


def _release(number: int) -> str:
    """NCCL_VERSION as text: 22809 is 2.28.9."""
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}" if number else ""


def _rank(number: Any) -> int:
    return int(number) if 0 <= number < NO_NUMBER else -1


def _text(value: Any) -> str:
    return one_line(bytes(value).split(b"\0")[0].decode("utf-8", "replace"))


def _names(data: bytes) -> Array:
    count = layout.TABLES * layout.NAMES
    found = np.frombuffer(data, f"S{layout.NAME_BYTES}", count, layout.NAMES_OFFSET)
    return found.reshape(layout.TABLES, layout.NAMES)


def _communicators(data: bytes) -> list[RecordedCommunicator]:
    table = np.frombuffer(data, layout.COMMUNICATOR, layout.COMMUNICATORS, layout.COMMUNICATORS_OFFSET)
    return [
        RecordedCommunicator(
            slot=slot,
            hash=int(one["hash"]),
            name=_text(one["name"]),
            rank=_rank(one["rank"]),
            size=_rank(one["size"]),
            nodes=_rank(one["nodes"]),
            bus_id=_text(one["bus_id"]).lower(),
            is_finalized=bool(one["state"] == 2),
            operations=int(one["operations"]),
        )
        for slot, one in enumerate(table)
        if one["state"] in (1, 2)
    ]


def _variables(data: bytes) -> list[RecordedVariable]:
    table = np.frombuffer(data, layout.VARIABLE, layout.VARIABLES, layout.VARIABLES_OFFSET)
    return [
        RecordedVariable(
            name=_text(one["name"]),
            value=_text(one["value"]) if one["origin"] else None,
            origin=layout.ORIGINS[min(int(one["origin"]), len(layout.ORIGINS) - 1)],
            reads=int(one["reads"]),
        )
        for one in table
        if one["state"] == 2
    ]


def _records(data: bytes, header: Any) -> tuple[Array, int]:
    """The records by their numbers, and how many are lost."""
    room = (len(data) - layout.RING_OFFSET) // layout.RECORD.itemsize
    capacity, written = int(header["capacity"]), int(header["written"])
    if capacity == 0 or written == 0:
        return np.empty(0, layout.RECORD), int(header["refused"])
    ring = np.frombuffer(data, layout.RECORD, min(room, capacity), layout.RING_OFFSET)
    sequence = ring["sequence"]
    index = sequence - np.uint64(1)
    whole = (sequence > 0) & (sequence < layout.BUSY)
    whole &= index % np.uint64(capacity) == np.arange(len(ring), dtype=np.uint64)
    turn = (index // np.uint64(capacity)) & np.uint64(0xFFFF)
    whole &= ring["end"] >> np.uint64(layout.TURN_SHIFT) == turn
    found = ring[whole]
    return found[np.argsort(found["sequence"])], max(0, written - len(found))
