# SPDX-License-Identifier: Apache-2.0
"""What a communicator did: by function, type and size how often, by which algorithm, and how fast."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from railgauge.topo.jobs.recordings.aligned import Aligned
from railgauge.topo.jobs.recordings.job import CommunicatorRanks
from railgauge.topo.jobs.recordings.operations import RankOperations
from railgauge.topo.jobs.recordings.recording import Array
from railgauge.topo.jobs.traces.names import Message, NoData, collective_of, dtype_of
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.values.dtype_bytes import DTYPE_BYTES

WHOLE = ("AllReduce", "Broadcast", "Reduce", "Send", "Recv")
"""Operations of which NCCL's count is that of all elements; others count those of one rank for one other."""


@dataclass(frozen=True, slots=True, order=True)
class NcclChoice:
    """What NCCL chose, in its own words; channels 0: unknown."""

    algorithm: str
    protocol: str
    channels: int

    @property
    def text(self) -> str:
        """RING LL128 on 24 channels."""
        on = f" on {self.channels} channel{'s' * (self.channels > 1)}" if self.channels else ""
        return f"{self.algorithm} {self.protocol}".strip() + on


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """Equal operations of a communicator. bytes: as nccl-tests counts them; 0 if the type is unknown. count: of the
    rank with the most. took_us: the median, from when all ranks had come until the last was through; None unknown.
    """

    function: str
    collective: Collective | None
    dtype: str
    bytes: int
    count: int
    captured: int
    choices: tuple[tuple[NcclChoice, int], ...]
    took_us: float | None
    ranks: int

    @property
    def busbw_gb_per_s(self) -> float | None:
        """As nccl-tests counts it; None without a time."""
        if not self.took_us or not self.collective or not self.bytes:
            return None
        return self.bytes / self.took_us / 1e3 * self.collective.factor(self.ranks)


def usage(communicator: CommunicatorRanks, times: Aligned | None) -> list[UsageRow]:
    """By function, type and size, in that order."""
    fullest = max(communicator.ranks.values(), key=lambda one: one.collectives.size)
    rows = [
        _row(communicator, fullest, same, times) for same in _alike(fullest.collectives, ("function", "dtype", "count"))
    ]
    rows += _messages(communicator)
    return sorted(rows, key=lambda row: (row.function, row.dtype, row.bytes))


def elements(function: str, count: int, ranks: int) -> int:
    """All elements of an operation as nccl-tests counts them, by NCCL's count."""
    return count if function in WHOLE else count * ranks


def nccl_type(name: str) -> tuple[str, int] | None:
    """nccl-tests' name of a type of NCCL's (ncclFloat32), and the bytes of an element; None for an unknown one."""
    word = name.removeprefix("nccl").lower().replace("float8e", "f8e")
    found = dtype_of(word)
    return (found[0], DTYPE_BYTES[found[0]]) if found else None


def _alike(records: Array, fields: tuple[str, ...]) -> Iterator[Array]:
    if not records.size:
        return
    keys = np.stack([records[name].astype(np.uint64) for name in fields], axis=1)
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.reshape(-1)
    for number in range(int(group.max()) + 1):
        yield records[group == number]


def _row(communicator: CommunicatorRanks, of: RankOperations, same: Array, times: Aligned | None) -> UsageRow:
    recording, first = of.recording, same[0]
    function, dtype = recording.named(0, first["function"]), recording.named(1, first["dtype"])
    known = nccl_type(dtype)
    kind = collective_of(function)
    choices = {
        NcclChoice(
            recording.named(2, int(one[0]["algorithm"])),
            recording.named(3, int(one[0]["protocol"])),
            int(one[0]["channels"]),
        ): len(one)
        for one in _alike(same, ("algorithm", "protocol", "channels"))
    }
    took = times.took_ns if times else None
    mine = np.isin(times.collectives["number"], same["number"]) if times is not None else None
    at = took[mine] if took is not None and mine is not None else np.empty(0)
    return UsageRow(
        function=function,
        collective=None if isinstance(kind, Message | NoData) else kind,
        dtype=known[0] if known else dtype,
        bytes=elements(function, int(first["count"]), communicator.size) * (known[1] if known else 0),
        count=len(same),
        captured=int(np.count_nonzero(same["captured"])),
        choices=tuple(sorted((item for item in choices.items() if item[0].text), key=lambda one: (-one[1], one[0]))),
        took_us=float(np.median(at)) / 1e3 if at.size else None,
        ranks=communicator.size,
    )


def _messages(communicator: CommunicatorRanks) -> Iterator[UsageRow]:
    counts: Counter[tuple[str, str, int]] = Counter()
    for one in communicator.ranks.values():
        for same in _alike(one.messages, ("function", "dtype", "a")):
            name = one.recording.named(0, same[0]["function"]), one.recording.named(1, same[0]["dtype"])
            counts[(*name, int(same[0]["a"]))] += len(same)
    for (function, dtype, count), times in counts.items():
        known = nccl_type(dtype)
        yield UsageRow(
            function=function,
            collective=None,
            dtype=known[0] if known else dtype,
            bytes=count * (known[1] if known else 0),
            count=times,
            captured=0,
            choices=(),
            took_us=None,
            ranks=communicator.size,
        )
