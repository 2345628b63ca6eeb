# SPDX-License-Identifier: Apache-2.0
"""The recordings of a job, laid together by communicator: its ranks in all processes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from railgauge.topo.errors import InputError
from railgauge.topo.facts.named_files import named_files
from railgauge.topo.files.archive_members import members
from railgauge.topo.files.compression import is_archive, plain
from railgauge.topo.files.input_file import blocks
from railgauge.topo.jobs.recordings.magic import is_recording
from railgauge.topo.jobs.recordings.operations import RankOperations, operations_of
from railgauge.topo.jobs.recordings.recording import Recording, parse_recording

MOST_BYTES = 4 << 30
"""Of one recording: RAILGAUGE_NCCL_MIB has as many at most, and a header before them."""
MOST_HEADER = 1 << 20
ENOUGH = 512
SUFFIX = ".nccl"
NOTHING = "no recording of `railgauge nccl`: run the job with `railgauge nccl run --record DIR` or `nccl env`"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunicatorRanks:
    """A communicator by its ranks; size: of all of them, or how many are known where NCCL does not tell it."""

    id: str
    name: str
    size: int
    ranks: dict[int, RankOperations]

    @property
    def title(self) -> str:
        """`communicator 0xfa93daea854b060b (tp)`."""
        return f"communicator {self.id}{f' ({self.name})' if self.name else ''}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of its ranks, in their order."""
        return tuple(dict.fromkeys(one.recording.host for _, one in sorted(self.ranks.items())))


@dataclass
class RecordedJob:
    """All recordings of a job."""

    recordings: list[Recording] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Recordings that could not be read, each with the reason."""

    @property
    def lost(self) -> int:
        """Records that are lost, of all processes."""
        return sum(one.lost for one in self.recordings)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of its processes, in alphabetical order."""
        return tuple(sorted({one.host for one in self.recordings}))

    @property
    def communicators(self) -> list[CommunicatorRanks]:
        """Those of which a rank is known, the largest first."""
        return self._laid_together[0]

    @property
    def repeated(self) -> list[str]:
        """Ranks of a communicator that two recordings have, such as a copy of a folder; the first counts."""
        return self._laid_together[1]

    @cached_property
    def _laid_together(self) -> tuple[list[CommunicatorRanks], list[str]]:
        by_hash: dict[int, dict[int, RankOperations]] = {}
        repeated = []
        for recording in self.recordings:
            for one in operations_of(recording):
                known = by_hash.setdefault(one.communicator.hash, {}) if one.rank >= 0 else {}
                if one.rank in known:
                    where = known[one.rank].recording.path
                    repeated.append(f"{recording.path}: {where} has rank {one.rank} of {one.communicator.id} too")
                else:
                    known[one.rank] = one
        found = []
        for ranks in by_hash.values():
            first = ranks[min(ranks)].communicator
            size = max(*(one.communicator.size for one in ranks.values()), max(ranks) + 1)
            found.append(CommunicatorRanks(id=first.id, name=first.name, size=size, ranks=dict(sorted(ranks.items()))))
        return sorted(found, key=lambda one: (-one.size, one.id)), repeated


def read_job(paths: Iterable[str], notice: Callable[[str], None] = lambda _: None) -> RecordedJob:
    """The recordings in files, folders and archives; other files of a folder are left out.

    Raises:
        InputError: a file that was named is none or damaged, or there is no recording at all.
    """
    given = list(paths)
    job = RecordedJob()
    for name in named_files(given):
        try:
            found = list(recordings_in(plain(blocks(name, notice), name), name))
        except InputError as error:
            if name in given:
                raise
            notice(f"{error}: left out")
            job.unread.append(str(error))
            continue
        if not found and name in given:
            raise InputError(NOTHING, name)
        if not found and name.endswith(SUFFIX):
            job.unread.append(f"{name}: not a recording of `railgauge nccl`")
        job.recordings += found
    if not job.recordings:
        raise InputError(NOTHING, given[0] if len(given) == 1 else f"{len(given)} files")
    return job


def recordings_in(content: Iterator[bytes], path: str) -> Iterator[Recording]:
    """The recording that a file is, or those in an archive."""
    first = b""
    while len(first) < ENOUGH and (more := next(content, b"")):
        first += more
    whole = chain([first], content)
    if is_archive(first):
        for name, member in members(whole, path):
            yield from recordings_in(member, name)
    elif is_recording(first):
        yield parse_recording(whole_recording(whole, path), path)


def whole_recording(content: Iterable[bytes], path: str) -> bytes:
    """All bytes of a recording; InputError for more than one has."""
    parts: list[bytes] = []
    size = 0
    for block in content:
        parts.append(block)
        size += len(block)
        if size > MOST_BYTES + MOST_HEADER:
            raise InputError(f"larger than {MOST_BYTES >> 30} GiB: not a recording", path)
    return b"".join(parts)
