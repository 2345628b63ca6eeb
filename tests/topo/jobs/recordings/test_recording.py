# SPDX-License-Identifier: Apache-2.0
"""A recording is read as it is: whole, lapped, cut off, damaged."""

import contextlib
import gzip
import json
import tarfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.jobs.recordings.writer import MS, RankFile, job, write

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.recordings import layout
from railgauge.topo.jobs.recordings.job import RecordedJob, read_job
from railgauge.topo.jobs.recordings.operations import operations_of
from railgauge.topo.jobs.recordings.recording import parse_recording
from railgauge.topo.jobs.recordings.report import report
from railgauge.topo.jobs.recordings.trace import put_job
from railgauge.topo.jobs.recordings.usage import usage
from railgauge.topo.jobs.traces.trace import Trace
from railgauge.topo.render.nccl_report import report_document, report_lines
from railgauge.topo.render.timeline import timeline
from railgauge.topo.render.trace_events import trace_events


def test_the_layout_is_that_of_the_plugin():
    assert layout.RECORD.itemsize == 64
    assert layout.COMMUNICATOR.itemsize == 128
    assert layout.VARIABLE.itemsize == 256
    assert layout.HEADER.itemsize == 264
    assert layout.RING_OFFSET == 172032


def test_operations_have_their_calls_and_times():
    file = RankFile(1, 2)
    file.collective(10 * MS, 11 * MS, 15 * MS, gpu_shift_ns=5, count=77, root=3)
    (found,) = operations_of(parse_recording(file.data(), "x"))
    (one,) = found.collectives
    assert (one["called_ns"], one["returned_ns"]) == (10 * MS, 10 * MS + 5000)
    assert (one["began_ns"], one["ended_ns"]) == (11 * MS, 15 * MS)
    assert (one["gpu_began_ns"], one["gpu_ended_ns"]) == (11 * MS + 5, 15 * MS + 5)
    assert (one["count"], one["root"], one["number"], one["seen"], one["open"]) == (77, 3, 1, 2, 0)


def test_an_operation_that_does_not_end_has_no_end():
    file = RankFile(0, 2)
    file.collective(MS, 2 * MS, None)
    (one,) = operations_of(parse_recording(file.data(), "x"))[0].collectives
    assert (one["began_ns"], one["ended_ns"], one["open"]) == (2 * MS, 0, 2)


def test_the_last_records_of_a_ring_are_kept_and_losses_counted():
    file = job(size=1)[0]
    file.capacity = 10
    recording = parse_recording(file.data(), "x")
    assert list(recording.records["sequence"]) == list(range(len(file.rows) - 9, len(file.rows) + 1))
    assert recording.lost == len(file.rows) - 10


def test_a_record_that_was_being_written_does_not_count():
    data = bytearray(job(size=1)[0].data())
    ring = np.frombuffer(data, layout.RECORD, offset=layout.RING_OFFSET)
    ring["sequence"][3] |= np.uint64(layout.BUSY)
    ring["end"][4] |= np.uint64(7 << layout.TURN_SHIFT)  # half of a later turn
    found = parse_recording(bytes(data), "x").records["sequence"]
    assert {4, 5} & set(found.tolist()) == set()
    assert len(found) == len(ring) - 2


def test_variables_have_their_origin():
    file = RankFile(0, 2, environment=2)
    file.variables = [("NCCL_ALGO", "Ring", 4), ("NCCL_PROTO", "", 0)]
    algo, proto = parse_recording(file.data(), "x").variables
    assert (algo.value, algo.origin) == ("Ring", "system file")
    assert (proto.value, proto.origin) == (None, "unset")


def test_without_an_environment_plugin_variables_are_unknown():
    assert parse_recording(RankFile(0, 2).data(), "x").variables is None


def test_sizes_count_as_nccl_tests_has_them(tmp_path):
    files = [RankFile(rank, 4) for rank in range(4)]
    for file in files:
        file.collective(MS, 2 * MS, 3 * MS, function="AllGather", count=1000)
        file.collective(4 * MS, 5 * MS, 6 * MS, function="AllReduce", count=1000)
        file.message(7 * MS, 1, sends=True, count=10)
    (communicator,) = read_job(write(files, tmp_path)).communicators
    rows = {row.function: row for row in usage(communicator, None)}
    assert (rows["AllGather"].bytes, rows["AllReduce"].bytes, rows["Send"].bytes) == (16000, 4000, 40)
    assert rows["AllReduce"].choices[0][0].text == "RING SIMPLE on 2 channels"


def test_folders_archives_and_packed_files_are_read(tmp_path):
    paths = write(job(), tmp_path)
    (tmp_path / "notes.txt").write_text("not a recording")
    assert len(read_job([str(tmp_path)]).recordings) == 2
    packed = tmp_path / "one.nccl.gz"
    packed.write_bytes(gzip.compress((tmp_path / "node1.100.nccl").read_bytes()))
    assert len(read_job([str(packed)]).recordings) == 1
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        for path in paths:
            archive.add(path)
    assert len(read_job([str(tmp_path / "all.tar")]).recordings) == 2


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda data: data[:1000], "cut off"),
        (lambda data: b"x" + data[1:], "not a recording"),
        (lambda data: data[:8] + b"\x09" + data[9:], "version 9"),
        (lambda data: data[:16] + b"\x01" + data[17:], "damaged"),
    ],
)
def test_damage_is_reported(change, word):
    with pytest.raises(InputError, match=word):
        parse_recording(change(job(size=1)[0].data()), "x")


def test_no_recording_in_a_folder_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(InputError, match="no recording"):
        read_job([str(tmp_path)])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_bytes_are_reported_or_refused(data):
    files = [bytearray(one.data()) for one in job(size=2, operations=6)]
    content = files[0]
    for _ in range(data.draw(st.integers(1, 40))):
        tables = st.integers(8, layout.RING_OFFSET - 1)
        place = data.draw(st.integers(layout.RING_OFFSET, len(content) - 1) | st.integers(8, 300) | tables)
        content[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.just(len(content)) | st.integers(0, len(content)))
    try:
        recordings = [parse_recording(bytes(content[:cut]), "x"), parse_recording(bytes(files[1]), "y")]
    except InputError:
        return
    found = report(RecordedJob(recordings), now_s=0)
    json.dumps([report_document(found), trace_events(found.job)])
    assert [*report_lines(found, 80)]
    assert all(timeline(part) or part.times is None for part in found.communicators)
    with contextlib.suppress(InputError):
        put_job(Trace(), found.job)
