# SPDX-License-Identifier: Apache-2.0
"""What the recording process may do: live answers have their shape, and replay as they were."""

import resource

from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.shapes import misfit
from railgauge.topo.facts.sources.process import CAP_IPC_LOCK, Process, live_process, read_process


def read(facts):
    return read_process(CaptureReader(Capture(manifest={}, facts={"process": facts} if facts else {})))


def test_live_answers_fit_the_capture_and_are_those_of_this_process():
    answer = live_process()
    assert misfit(answer, "facts/process.json") is None
    assert read(answer).open_files == resource.getrlimit(resource.RLIMIT_NOFILE)


def test_capabilities_tell_whether_memory_is_locked_freely():
    assert read({"capabilities": 1 << CAP_IPC_LOCK}).locks_freely is True
    assert read({"capabilities": 0}).locks_freely is False
    assert read({"capabilities": None}).locks_freely is None


def test_what_was_not_recorded_is_not_known():
    assert read(None) == Process()


def test_a_misfit_is_refused():
    assert "open_files" in misfit({"open_files": [1]}, "facts/process.json")
