# SPDX-License-Identifier: Apache-2.0
"""Files, folders and archives that a stuck job left, read one after the other into a scene, each by its kind.

A file that cannot be read becomes a note, since a rank that died while it wrote is evidence too; only when none can be
read is that an error. One that railgauge itself fails on does not hide the others either. Nothing of an archive is
unpacked to disk.
"""

import os
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from railgauge.topo.errors import INTERNAL_ERROR, Error, InputError, described
from railgauge.topo.facts.named_files import named_files
from railgauge.topo.files.archive_members import members
from railgauge.topo.files.compression import is_archive, plain
from railgauge.topo.files.input_file import blocks
from railgauge.topo.files.json_value import json_value
from railgauge.topo.files.pasted_text import plain_text, without_prefixes
from railgauge.topo.jobs.hang.first_format import in_second_format
from railgauge.topo.jobs.hang.flight_dump import FlightDumps, rank_of
from railgauge.topo.jobs.hang.model import JobState
from railgauge.topo.jobs.hang.plain_pickle import MOST_BYTES, PROTOCOLS, load
from railgauge.topo.jobs.hang.rank_log import RankLog
from railgauge.topo.jobs.hang.ras_json import read_ras_json
from railgauge.topo.jobs.hang.ras_looks import Looks
from railgauge.topo.jobs.hang.ras_text import LOOKS_LIKE, RasText
from railgauge.topo.jobs.hang.stacks import Stacks
from railgauge.topo.jobs.recordings.magic import is_recording

if TYPE_CHECKING:
    from railgauge.topo.jobs.recordings.recording import Recording

JSON = re.compile(rb'\s*\{\s*"')
KNOWN = re.compile(rb'"(?:schema": *"railgauge/|comm_lib_version|entries|pg_config|nccl_version)')
"""What begins one of the documents that are read, and no log of which each line is JSON."""
FEW = 4


ReadDocument = Callable[[JobState, bytes, str], None]
"""Takes a document of one schema of railgauge into a scene; InputError when it is not as its schema says."""
NOTHING = (
    "no data of a stuck job: give flight records of PyTorch (nccl_trace_rank_N), what ncclras prints, NCCL "
    "logs with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL, a flight record of `run --record`, or recordings of "
    "`nccl run`"
)


class Sources:
    """Reads what it is given into `scene`. documents: how to read railgauge's own documents, by their schema."""

    def __init__(self, documents: Mapping[str, ReadDocument]) -> None:
        self.scene = JobState()
        self._documents = documents
        self._log = RankLog()
        self._flight_dumps = FlightDumps(self.scene)
        self._looks = Looks(self.scene)
        self._stacks = Stacks(self.scene)
        self._recordings: list[Recording] = []
        self.failures: list[Exception] = []
        """Errors of railgauge itself, each of which kept a file from being read."""
        self._errors: list[InputError] = []
        self._unknown: list[str] = []
        self._read = 0

    def add(self, path: str) -> None:
        """Read a file, a pipe, an archive, or all files of a folder or a pattern."""
        for name in named_files([path]):
            self._guarded(self._any, blocks(name, self.scene.note), name)

    def add_report(self, report: bytes, path: str) -> None:
        """Read what RAS answered."""
        self._any(iter([report]), path)

    def finish(self) -> JobState:
        """The scene, all sources laid together; InputError, or railgauge's own error, when nothing could be read."""
        if self._unknown:
            some = ", ".join(self._unknown[:FEW])
            more = f" and {len(self._unknown) - FEW} more" if len(self._unknown) > FEW else ""
            self.scene.note(f"no known data in {some}{more}")
        if not self._read:
            path = self._unknown[0] if self._unknown else None
            raise next(iter([*self.failures, *self._errors]), InputError(NOTHING, path))
        self._flight_dumps.close()
        self._log.put(self.scene)
        if self._recordings:
            self._put_recordings()
        return self.scene

    def _guarded(self, read: Callable[[Iterator[bytes], str], None], content: Iterator[bytes], path: str) -> None:
        try:
            read(content, path)
        except InputError as error:
            self._errors.append(error)
            self.scene.note(str(error))
        except Error:
            raise
        except Exception as error:
            self.failures.append(error)
            self.scene.note(f"{path}: left out: {INTERNAL_ERROR}{described(error)}")

    def _any(self, content: Iterator[bytes], path: str) -> None:
        content = plain(content, path)
        first = next(content, b"")
        while 0 < len(first) < tarfile.BLOCKSIZE and (more := next(content, b"")):
            first += more
        content = chain([first], content)
        if is_archive(first):
            self._archive(content, path)
        else:
            self._file(first, content, path)

    def _file(self, first: bytes, content: Iterator[bytes], path: str) -> None:
        if is_recording(first):
            self._recording(content, path)
        elif PROTOCOLS.match(first):
            self._dump(load(_whole(content, path), path), path)
        elif JSON.match(first) and KNOWN.search(first):
            self._document(_whole(content, path), path)
        elif LOOKS_LIKE.search(first):
            data = _whole(content, path)
            with self._looks.look():
                RasText(self.scene).read(without_prefixes(plain_text(data)).split("\n"))
            self._log.read([data])
            self._read += 1
        elif self._lines(content, path):
            self._read += 1
        else:
            self._unknown.append(path)

    def _recording(self, content: Iterator[bytes], path: str) -> None:
        from railgauge.topo.jobs.recordings.job import whole_recording
        from railgauge.topo.jobs.recordings.recording import parse_recording

        self._recordings.append(parse_recording(whole_recording(content, path), path))
        self._read += 1

    def _put_recordings(self) -> None:
        from railgauge.topo.jobs.recordings.evidence import put_recordings
        from railgauge.topo.jobs.recordings.job import RecordedJob

        put_recordings(self.scene, RecordedJob(self._recordings))

    def _lines(self, content: Iterator[bytes], path: str) -> bool:
        """Read a log, which may have stacks in it."""
        before = len(self.scene.stacks)
        told = self._log.read(self._stacks.beside(content, path))
        return told or len(self.scene.stacks) > before

    def _document(self, data: bytes, path: str) -> None:
        try:
            document = json_value(data)
        except ValueError as error:
            raise InputError(f"damaged or cut off: {error}", path) from None
        schema = document.get("schema")
        read = self._documents.get(schema) if isinstance(schema, str) else None
        if read:
            read(self.scene, data, path)
            self._read += 1
        elif "communicators" in document:
            with self._looks.look():
                read_ras_json(self.scene, document, path)
            self._read += 1
        else:
            self._dump(document, path)

    def _dump(self, dump: Any, path: str) -> None:
        record = in_second_format(dump)
        if not isinstance(record, dict):
            raise InputError("not a flight record of PyTorch, which is a dictionary", path)
        told = cast(dict[str, Any], record)
        self._flight_dumps.read(told, rank_of(os.path.basename(path), told, path), path)
        self._read += 1

    def _archive(self, content: Iterable[bytes], path: str) -> None:
        for name, member in members(content, path):
            self._guarded(self._member, member, name)

    def _member(self, content: Iterator[bytes], path: str) -> None:
        first = next(content, b"")
        self._file(first, chain([first], content), path)


def _whole(content: Iterable[bytes], path: str) -> bytes:
    """All of a file that has to be read at once; InputError when it is too large for what it is."""
    parts: list[bytes] = []
    size = 0
    for block in content:
        parts.append(block)
        size += len(block)
        if size > MOST_BYTES:
            raise InputError(f"larger than {MOST_BYTES >> 20} MiB: more than a rank's record or RAS's report has", path)
    return b"".join(parts)
