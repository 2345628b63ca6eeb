# SPDX-License-Identifier: Apache-2.0
"""The counters of one link as they stood at one time, whatever kind of link it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from railgauge.topo.facts.reader import Reader
from railgauge.topo.values.number import whole


class ByteDirection(StrEnum):
    """The direction of bytes, as seen by this host."""

    SENT = "sent"
    RECEIVED = "received"


class CounterKind(StrEnum):
    """What a link is; memory has no counter."""

    INTERFACE = "interface"
    RDMA_PORT = "rdma_port"
    NVLINK = "nvlink"
    PCIE = "pcie"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCounters:
    """One link's counters, as they are read: `counts` has data, packets, errors and dropped for each direction, as far
    as available.

    unit_bytes: what 1 of data stands for. wraps_at: how many of these there are before it begins at 0 again, None if
    unknown. made: what changes when the link is recreated. above: links whose bytes it counts once more, as the
    ports of a bond do. unread: why data cannot be read, "" where it can.
    """

    kind: CounterKind
    name: str
    counts: Mapping[ByteDirection, Mapping[str, int]]
    unit_bytes: int = 1
    wraps_at: int | None = None
    made: str | None = None
    above: tuple[str, ...] = ()
    unread: str = ""


def read_counts(
    reader: Reader, folder: str, files: Mapping[ByteDirection, Mapping[str, str]]
) -> dict[ByteDirection, dict[str, int]]:
    """The counters that are in files below a folder, without those that are absent or no numbers."""
    found = {
        way: {what: whole(reader.text(f"{folder}/{file}")) for what, file in named.items()}
        for way, named in files.items()
    }
    return {way: {what: n for what, n in counts.items() if n is not None} for way, counts in found.items()}


def why_unread(
    reader: Reader,
    folder: str,
    files: Mapping[ByteDirection, Mapping[str, str]],
    counts: Mapping[ByteDirection, Mapping[str, int]],
) -> str:
    """Why data of one or both directions could not be read; "" where it was."""
    path = next((f"{folder}/{files[way]['data']}" for way in ByteDirection if "data" not in counts[way]), None)
    return f"{path}: {reader.problems.get(path, 'missing, or not a number')}" if path else ""
