# SPDX-License-Identifier: Apache-2.0
"""Reads the traces of a job: files, folders and archives, packed or not, each by its content."""

import itertools
import tarfile
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from railgauge.topo.errors import InputError
from railgauge.topo.facts.named_files import named_files
from railgauge.topo.files.archive_members import members
from railgauge.topo.files.compression import is_archive, plain
from railgauge.topo.files.input_file import blocks
from railgauge.topo.files.json_items import json_items
from railgauge.topo.jobs.hang.plain_pickle import MOST_BYTES, PROTOCOLS, load
from railgauge.topo.jobs.recordings.magic import is_recording
from railgauge.topo.jobs.traces.flight_record import read_flight_record
from railgauge.topo.jobs.traces.kineto import KinetoReader
from railgauge.topo.jobs.traces.nccl_log import NcclLogReader
from railgauge.topo.jobs.traces.param import ParamTraceReader
from railgauge.topo.jobs.traces.trace import Trace

if TYPE_CHECKING:
    from railgauge.topo.jobs.recordings.recording import Recording

NOTHING = (
    "no trace of collectives: give flight records of PyTorch (nccl_trace_rank_N), traces of its profiler, comms traces "
    "of PARAM, NCCL logs with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL, or recordings of `nccl run`"
)
BEGINS_JSON = b"{", b"["
MARK = b"\xef\xbb\xbf"
FLIGHT_RECORD = ("entries", "pg_config", "nccl_version", "pg_status", "version")
"""Members of a flight record in JSON."""


def read_trace(paths: Iterable[str], notice: Callable[[str], None] = lambda _: None) -> Trace:
    """The operations in some files together; `notice` takes words about files that are left out.

    Raises:
        InputError: a file is unreadable or damaged, or none has any operation.
    """
    given = list(paths)
    reader, names = _Reader(notice), named_files(given)
    for name in names:
        reader.read(plain(blocks(name, notice), name), name, alone=name in given)
    return reader.finish(names[0] if len(names) == 1 else f"{len(names)} files")


class _Reader:
    def __init__(self, notice: Callable[[str], None]) -> None:
        self._trace, self._logs, self._notice = Trace(), NcclLogReader(), notice
        self._recordings: list[Recording] = []

    def read(self, content: Iterator[bytes], path: str, *, alone: bool) -> None:
        """Read a file or an archive; `alone`: it was named, so that it must have operations."""
        first = b""
        while len(first) < tarfile.BLOCKSIZE and (more := next(content, b"")):
            first += more
        whole = itertools.chain([first], content)
        if is_archive(first):
            for name, member in members(whole, path):
                self.read(member, name, alone=False)
            return
        try:
            found = self._file(first, whole, path)
        except InputError as error:
            if alone:
                raise
            self._notice(f"{error}: left out")
            return
        if alone and not found:
            raise InputError(NOTHING, path)

    def finish(self, path: str) -> Trace:
        """All operations; InputError without any."""
        self._logs.put(self._trace)
        if self._recordings:
            from railgauge.topo.jobs.recordings.job import RecordedJob
            from railgauge.topo.jobs.recordings.trace import put_job

            put_job(self._trace, RecordedJob(self._recordings))
        if not self._trace.count:
            why = "; ".join(f"{count} left out: {why}" for why, count in self._trace.left_out.items())
            raise InputError(f"no operation that can be billed: {why}" if why else NOTHING, path)
        return self._trace

    def _file(self, first: bytes, content: Iterable[bytes], path: str) -> bool:
        if is_recording(first):
            self._recording(content, path)
            return True
        if PROTOCOLS.match(first):
            read_flight_record(load(_whole(content, path), path), path, self._trace)
            return True
        if first.removeprefix(MARK).lstrip().startswith(BEGINS_JSON):
            return self._json(content, path)
        return self._logs.read(content, path)

    def _recording(self, content: Iterable[bytes], path: str) -> None:
        from railgauge.topo.jobs.recordings.job import whole_recording
        from railgauge.topo.jobs.recordings.recording import parse_recording

        self._recordings.append(parse_recording(whole_recording(content, path), path))

    def _json(self, content: Iterable[bytes], path: str) -> bool:
        """Read a JSON trace; its members tell the format."""
        kineto, param = KinetoReader(path), ParamTraceReader(path, self._trace)
        record: dict[str, Any] = {}
        kind = ""
        for key, value in json_items(content, path):
            kind = kind or _kind(key, value)
            if kind == "kineto":
                kineto.take(key, value)
            elif kind == "param":
                param.take(key, value)
            else:
                _put(record, key, value, path)
                kineto.take(key, value)
        if kind == "kineto":
            kineto.finish(self._trace)
        elif kind == "param":
            param.finish()
        elif "entries" in record or "pg_config" in record:
            read_flight_record(record, path, self._trace)
        else:
            return False
        return True


def _kind(key: str, value: Any) -> str:
    """What a part shows about the format of its file: kineto, param, or "" for nothing."""
    if key == "traceEvents":
        return "kineto"
    if isinstance(value, dict) and key not in FLIGHT_RECORD:
        return "param" if "comms" in value or "compute" in value else "kineto" if "ph" in value else ""
    return ""


def _put(record: dict[str, Any], key: str, value: Any, path: str) -> None:
    """Keep a part of what may be a flight record."""
    if key == "entries":
        if not isinstance(value, dict):
            raise InputError("not a flight record of PyTorch: an entry is no dictionary", path)
        entries = record.setdefault("entries", [])
        entries.append({name: one for name, one in value.items() if name != "frames"})
        if len(entries) > MOST_ENTRIES:
            raise InputError(f"more than {MOST_ENTRIES} entries: more than a flight record has", path)
    elif key in FLIGHT_RECORD:
        record[key] = value


MOST_ENTRIES = 1 << 18


def _whole(content: Iterable[bytes], path: str) -> bytes:
    """All of a pickle; InputError when it is too large for a flight record."""
    parts: list[bytes] = []
    size = 0
    for block in content:
        parts.append(block)
        size += len(block)
        if size > MOST_BYTES:
            raise InputError(f"larger than {MOST_BYTES >> 20} MiB: not a flight record", path)
    return b"".join(parts)
