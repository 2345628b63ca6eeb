# SPDX-License-Identifier: Apache-2.0
"""/dev/shm and NCCL's segments in it: found, aged, and held by whoever has them mapped."""

import mmap

from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.shapes import misfit
from railgauge.topo.facts.sources.shared_memory import live_shared_memory, read_shared_memory


def read(answer):
    return read_shared_memory(CaptureReader(Capture(manifest={}, facts={"shared_memory": answer})))


def test_a_segment_is_held_while_a_process_maps_it(tmp_path):
    for name in ("nccl-aaaaaa", "nccl-bbbbbb", "other"):
        (tmp_path / name).write_bytes(bytes(8192))
    with (tmp_path / "nccl-aaaaaa").open("r+b") as file, mmap.mmap(file.fileno(), 8192):
        answer = live_shared_memory(str(tmp_path))
    assert misfit(answer, "facts/shared_memory.json") is None
    found = {segment.name: segment for segment in read(answer).segments}
    assert set(found) == {"nccl-aaaaaa", "nccl-bbbbbb"}
    assert found["nccl-aaaaaa"].held is True
    assert found["nccl-bbbbbb"].held in (False, None)
    assert found["nccl-bbbbbb"].size_bytes == 8192


def test_a_machine_without_it_says_why(tmp_path):
    answer = live_shared_memory(str(tmp_path / "none"))
    assert misfit(answer, "facts/shared_memory.json") is None
    assert "No such file" in read(answer).error


def test_what_nobody_asked_for_is_not_known():
    assert read_shared_memory(CaptureReader(Capture(manifest={}))) is None
