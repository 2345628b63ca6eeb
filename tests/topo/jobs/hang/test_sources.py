# SPDX-License-Identifier: Apache-2.0
"""Files, folders and archives are read by what they are; one that is damaged does not hide the others."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import re
import tarfile

import pytest
from tests.cli.command import in_process
from tests.topo.jobs.hang import ras
from tests.topo.jobs.hang.reading import dump, found, message, scene_of, up_to, write_dumps

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.hang.flight_dump import FlightDumps, rank_of

DUMPS = {rank: dump(up_to(41, waits=41)) for rank in range(7)} | {7: dump(up_to(40))}


def archive(folder, path, mode):
    with tarfile.open(path, mode) as tar:
        tar.add(folder, arcname="left")
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz", "zst"])
def test_an_archive_is_read_as_its_folder_is(tmp_path, mode):
    folder = tmp_path / "left"
    folder.mkdir()
    write_dumps(folder, DUMPS)
    path = archive(folder, tmp_path / "left.tar", "w" if mode == "zst" else mode)
    if mode == "zst":
        zstandard = pytest.importorskip("zstandard")
        path.write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
    assert message(scene_of(path)) == message(scene_of(folder))
    assert sorted(os.listdir(tmp_path)) == ["left", "left.tar"]


def test_a_damaged_dump_becomes_a_note_and_its_rank_is_missing(tmp_path):
    write_dumps(tmp_path, {rank: dump(up_to(41, waits=41)) for rank in range(8)})
    path = tmp_path / "nccl_trace_rank_2"
    path.write_bytes(path.read_bytes()[:-100])
    scene = scene_of(tmp_path)
    assert found(scene) == [("rank-missing", "FAIL")]
    assert any("nccl_trace_rank_2: cut off" in note for note in scene.notes)


def test_two_dumps_of_one_rank_are_not_mixed(tmp_path):
    write_dumps(tmp_path, DUMPS)
    (tmp_path / "older_7").write_bytes(pickle.dumps(dump(up_to(12)), 2))
    scene = scene_of(tmp_path)
    assert any("a second dump of rank 7" in note for note in scene.notes)
    assert message(scene).startswith("rank 7 has not entered all_reduce #41")


def test_a_hostile_dump_among_others_is_noted(tmp_path):
    write_dumps(tmp_path, {rank: dump(up_to(41)) for rank in range(8)})
    (tmp_path / "nccl_trace_rank_3").write_bytes(pickle.dumps(print, 2))
    assert any("nccl_trace_rank_3: rejected" in note for note in scene_of(tmp_path).notes)


ENDLESS = {"0": {"ranks": "[" * 100_000, "desc": ""}}
TUPLES = 300_000
"""One in the other: as a key of a dictionary more than a stack of 8 MiB holds the hashing of."""


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (pickle.dumps({"entries": [], "pg_config": ENDLESS}, 2), "nested too deeply"),
        (b"\x80\x02})" + b"\x85" * TUPLES + b"K\x01s.", "a damaged pickle: unhashable type: 'list'"),
    ],
)
def test_a_record_that_is_nested_without_end_is_noted(tmp_path, content, words):
    write_dumps(tmp_path, {rank: dump(up_to(41)) for rank in range(8)})
    (tmp_path / "nccl_trace_rank_3").write_bytes(content)
    assert any("nccl_trace_rank_3: " in note and words in note for note in scene_of(tmp_path).notes)


def test_a_file_that_railgauge_fails_on_hides_no_other(tmp_path, monkeypatch):
    write_dumps(tmp_path, DUMPS)
    whole = FlightDumps.read

    def read(self, told, rank, path):
        if rank == 2:
            raise KeyError("colour")
        whole(self, told, rank, path)

    monkeypatch.setattr(FlightDumps, "read", read)
    done = in_process("log", "hang", str(tmp_path))
    assert done.returncode == 70
    assert "rank 7 has not entered all_reduce #41" in done.stdout
    assert re.search(r"rank_2: left out: internal error of railgauge: unexpected KeyError: 'colour'", done.stderr)
    alone = in_process("log", "hang", str(tmp_path / "nccl_trace_rank_2"))
    assert (alone.returncode, alone.stdout) == (70, "")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("log", b"", "no data of a stuck job"),
        ("log", b"loss 2.3\n" * 99, "no data of a stuck job"),
        ("trace_0.json", b'{"pg_config": {', "damaged or cut off: not JSON"),
        ("trace_0.json", b'{"pg_config": ' + b"[" * 100_000, "damaged or cut off: not JSON"),
        ("ras.json", b'{"nccl_version": "2.29", "communicators": [{}]}', "field 'size' is missing"),
        ("ras.json", b'{"nccl_version": "2.29", "communicators": [{"size": "x"}]}', "not the JSON of ncclras"),
        ("trace", pickle.dumps(dump([]), 2), "a flight record's name ends with the rank"),
        ("trace_0", pickle.dumps([1], 2), "not a flight record of PyTorch"),
        ("left.tar.gz", b"\x1f\x8b\x08" + b"\0" * 600, "not a readable archive"),
    ],
)
def test_what_cannot_be_read_is_bad_input(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        scene_of(tmp_path / name)


def test_a_cut_off_archive_keeps_what_came_before(tmp_path):
    folder = tmp_path / "left"
    folder.mkdir()
    write_dumps(folder, DUMPS)
    path = archive(folder, tmp_path / "left.tar", "w")
    path.write_bytes(path.read_bytes()[:-30_000])
    scene = scene_of(path)
    assert any("left.tar: not a readable archive" in note for note in scene.notes)


def test_links_and_devices_of_an_archive_are_passed_over(tmp_path):
    with tarfile.open(tmp_path / "left.tar", "w") as tar:
        link = tarfile.TarInfo("nccl_trace_rank_0")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        report = ras.behind().encode()
        member = tarfile.TarInfo("../../ras.txt")
        member.size = len(report)
        tar.addfile(member, io.BytesIO(report))
    assert found(scene_of(tmp_path / "left.tar")) == [("rank-behind", "FAIL")]


def test_what_is_not_known_is_named(tmp_path):
    write_dumps(tmp_path, DUMPS)
    (tmp_path / "readme.txt").write_text("hello\n")
    assert any("no known data in" in note and "readme.txt" in note for note in scene_of(tmp_path).notes)


@pytest.mark.parametrize("how", ["gz", "zst", "bz2", "xz"])
def test_a_packed_file_is_read_as_what_it_holds(tmp_path, how):
    for rank, content in DUMPS.items():
        (tmp_path / f"nccl_trace_rank_{rank}.{how}").write_bytes(packed(pickle.dumps(content, 2), how))
    assert found(scene_of(tmp_path)) == [("rank-behind", "FAIL")]


def packed(data, how):
    if how == "zst":
        return pytest.importorskip("zstandard").ZstdCompressor().compress(data)
    return {"gz": gzip, "bz2": bz2, "xz": lzma}[how].compress(data)


def test_a_pattern_that_no_shell_expanded(tmp_path):
    write_dumps(tmp_path, DUMPS)
    (tmp_path / "other.txt").write_text("loss 2.3\n")
    scene = scene_of(tmp_path / "nccl_trace_rank_*")
    assert found(scene) == [("rank-behind", "FAIL")]
    assert not scene.notes


def test_a_log_on_stdin(tmp_path, monkeypatch):
    said = "[rank3]:[E603 17:48:01.0] [PG ID 0 PG GUID 0 Rank 3] ProcessGroupNCCL's watchdog got stuck for 480 seconds"
    (tmp_path / "log").write_text(said + "\n")
    with (tmp_path / "log").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert scene_of("-").asleep == {3: 480}


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("nccl_trace_rank_7", 7),
        ("_dump_12", 12),
        ("trace_3.json", 3),
        ("rank12_of_16.pkl", 12),
        ("comm_lib_trace_rank_5.gz", 5),
    ],
)
def test_the_rank_in_the_name_of_a_dump(name, rank):
    assert rank_of(name, {}, name) == rank
