# SPDX-License-Identifier: Apache-2.0
"""The operations of one rank in one communicator: each collective with its calls, and its times in the kernel.

A collective's begin and end are those of its channels in the kernel: by the GPU's clock, where NCCL gives it (from
2.27 on), else by the host's when its proxy saw them. A host's call tells only when the program came.
"""

from dataclasses import dataclass

import numpy as np

from railgauge.topo.jobs.recordings.layout import DURATION, Flag, Kind, RecordingLevel
from railgauge.topo.jobs.recordings.recording import Array, RecordedCommunicator, Recording

OPERATION = np.dtype(
    [
        ("record", "<u8"),
        ("number", "<u8"),
        ("seq", "<u8"),
        ("kind", "u1"),
        *((name, "u1") for name in ("function", "dtype", "algorithm", "protocol", "channels")),
        ("captured", "?"),
        ("count", "<u8"),
        ("root", "<i4"),
        ("called_ns", "<i8"),
        ("returned_ns", "<i8"),
        ("began_ns", "<i8"),
        ("ended_ns", "<i8"),
        ("gpu_began_ns", "<i8"),
        ("gpu_ended_ns", "<i8"),
        ("seen", "<u4"),
        ("open", "<u4"),
    ]
)
"""number: among the communicator's collectives, from 1; 0 of a captured graph. seen and open: channels that began, and
those of them that have not ended. Times 0: unknown; all of the host's monotonic clock, but the GPU's own."""
NUMBER, ROOT_SHIFT, NO_ROOT = (1 << 40) - 1, 40, 0xFFFFFF
BETWEEN_PEERS = ("Send", "Recv")
FAR = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOperations:
    """What one rank did in one communicator. collectives: of OPERATION, in their order. messages: sends and receives,
    of layout.RECORD.
    """

    recording: Recording
    communicator: RecordedCommunicator
    collectives: Array
    messages: Array

    @property
    def rank(self) -> int:
        """In the communicator."""
        return self.communicator.rank

    def name(self, operation: Array) -> str:
        """The function of a collective, in NCCL's word."""
        return self.recording.named(0, int(operation["function"]))


def operations_of(recording: Recording) -> list[RankOperations]:
    """The operations of a process, by communicator."""
    records = recording.records
    kind = records["kind"]
    collectives = records[(kind == Kind.COLLECTIVE) | (kind == Kind.COPY_ENGINE)]
    if not collectives.size and recording.level is RecordingLevel.CALL:
        calls = records[kind == Kind.CALL]
        between = [code for code, name in enumerate(recording.names[0]) if name in BETWEEN_PEERS]
        collectives = calls[~np.isin(calls["function"], between)]
    messages = records[kind == Kind.MESSAGE]
    found = _collectives(collectives, records[kind == Kind.CALL], records[kind == Kind.CHANNEL])
    return [
        RankOperations(
            recording=recording,
            communicator=one,
            collectives=_numbered(found[collectives["communicator"] == one.slot], recording),
            messages=messages[messages["communicator"] == one.slot],
        )
        for one in recording.communicators
    ]


def ended_ns(records: Array) -> Array:
    """When records ended, by the host's clock; 0 where they have not."""
    duration = records["end"] & np.uint64(DURATION)
    ended = records["start_ns"] + duration - np.uint64(1)
    return np.where(duration > 0, ended, 0).astype(np.int64)


def _collectives(records: Array, calls: Array, channels: Array) -> Array:
    found = np.zeros(len(records), OPERATION)
    found["record"] = records["sequence"]
    found["kind"] = records["kind"]
    for name in ("function", "dtype", "algorithm", "protocol", "channels"):
        found[name] = records[name]
    is_call = records["kind"] == Kind.CALL
    found["number"] = np.where(is_call, 0, records["c"] & np.uint64(NUMBER))
    found["seq"] = np.where(is_call, 0, records["b"])
    root = np.where(is_call, records["b"] & np.uint64(NO_ROOT), records["c"] >> np.uint64(ROOT_SHIFT))
    found["root"] = np.where(root == NO_ROOT, -1, root.astype(np.int64))
    found["captured"] = records["flags"] & Flag.CAPTURED
    found["count"] = records["a"]
    found["called_ns"] = records["start_ns"]
    found["returned_ns"] = ended_ns(records)
    place, has = _places(calls["sequence"], records["parent"])
    found["called_ns"][has] = calls["start_ns"][place[has]]
    found["returned_ns"][has] = ended_ns(calls)[place[has]]
    _add_channels(found, channels)
    return found


def _add_channels(found: Array, channels: Array) -> None:
    """Begin and end of each collective in the kernel: the first of its channels' and the last."""
    place, has = _places(found["record"], channels["parent"])
    place, channels = place[has], channels[has]
    ended = ended_ns(channels)
    np.add.at(found["seen"], place, 1)
    np.add.at(found["open"], place, (ended == 0).astype(np.uint32))
    for begin, end, first, last in (
        ("began_ns", "ended_ns", channels["start_ns"].astype(np.int64), ended),
        ("gpu_began_ns", "gpu_ended_ns", channels["b"].astype(np.int64), channels["c"].astype(np.int64)),
    ):
        earliest = np.full(len(found), FAR)
        np.minimum.at(earliest, place, np.where(first > 0, first, FAR))
        found[begin] = np.where(earliest == FAR, 0, earliest)
        np.maximum.at(found[end], place, last)
        found[end] = np.where(found["open"] > 0, 0, found[end])


def _places(sorted_numbers: Array, numbers: Array) -> tuple[Array, Array]:
    """By number its place among others, and whether it is there."""
    place = np.searchsorted(sorted_numbers, numbers)
    place = np.minimum(place, max(len(sorted_numbers) - 1, 0))
    has = sorted_numbers[place] == numbers if len(sorted_numbers) else np.zeros(len(numbers), bool)
    return place, has


def _numbered(collectives: Array, recording: Recording) -> Array:
    """Calls have no numbers of NCCL's: theirs are those of their order, if none is lost."""
    if recording.level is RecordingLevel.CALL and not recording.lost and not collectives["number"].any():
        counted = collectives.copy()
        counted["number"] = np.where(counted["captured"], 0, np.cumsum(~counted["captured"]))
        return counted
    return collectives
