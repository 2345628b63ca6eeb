# SPDX-License-Identifier: Apache-2.0
"""NVML and CUDA in a child: hanging, crashing, babbling and absent libraries cost a warning, never the tool."""

import os
import signal
import subprocess
import sys
import time

import pytest

from railgauge.topo.sources.child import ask
from railgauge.topo.sources.cuda import live_cuda
from railgauge.topo.sources.nvml import count_links, live_nvml, max_nvlinks, read_gpus


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_a_child_that_hangs_is_given_up():
    start = time.monotonic()
    answer = live_nvml(python("import time; time.sleep(60)"), timeout_s=0.5)
    assert answer == {"error": "NVML did not answer within 0.5 s"}
    assert time.monotonic() - start < 10


def test_a_child_that_ignores_signals_is_given_up():
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    assert "did not answer" in live_nvml(python(code), timeout_s=0.5)["error"]


def test_grandchildren_that_hold_the_pipe_do_not_hold_us():
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    start = time.monotonic()
    assert "did not answer" in ask(python(code), "NVML", 1.0)["error"]
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
def test_a_child_that_crashes_is_named(number):
    code = f"import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.kill(os.getpid(), {int(number)})"
    assert live_nvml(python(code)) == {"error": f"NVML crashed ({number.name})"}


def test_a_child_that_fails_says_why():
    assert live_nvml(python("raise SystemExit('no driver')")) == {"error": "NVML failed: no driver"}


@pytest.mark.parametrize("text", ["hello", "[1]", ""])
def test_a_child_that_babbles_is_refused(text):
    assert "not" in live_nvml(python(f"print({text!r})"))["error"]


def test_a_command_that_does_not_exist():
    assert "cannot start" in live_nvml(("/nonexistent/python",))["error"]


def test_an_absent_module_is_a_reason():
    code = "import sys; sys.modules['pynvml'] = None\nfrom railgauge.topo.sources.nvml_child import main; main()"
    assert "pynvml" in live_nvml(python(code))["error"]


def test_the_real_children_always_answer():
    assert {"gpus", "error"} & live_nvml().keys()
    assert {"gpu_direct_rdma", "error"} & live_cuda().keys()


def link(remote: str, **changes: int) -> dict[str, object]:
    return {"state": 1, "p2p": 1, "remote": remote, **changes}


def test_links_are_counted_by_target():
    links = [link("FFFFFFFF:FF:FF.0"), link("FFFFFFFF:FF:FF.0"), link("00000000:3B:00.0"), link("x", state=0)]
    assert count_links([*links, link("y", p2p=0)], 90) == (("fffffff:ff:ff.0", 2), ("0000:3b:00.0", 1))


def test_older_gpus_are_asked_for_fewer_links():
    assert [max_nvlinks(sm) for sm in (52, 60, 70, 80, 90, 100)] == [0, 4, 6, 12, 18, 18]
    assert count_links([link("00000000:3B:00.0")] * 18, 70) == (("0000:3b:00.0", 6),)


def test_a_gpu_that_does_not_answer_is_left_out_with_a_warning():
    good = {"index": 1, "pci": "00000000:07:00.0", "cc": [9, 0], "links": [], "c2c": []}
    bad = {"index": 0, "pci": None, "cc": None, "error": "GPU is lost"}
    gpus, warnings = read_gpus({"gpus": [bad, good]}, None)
    assert [gpu.index for gpu in gpus] == [1]
    assert "GPU is lost" in warnings[0]


def test_an_error_is_a_warning():
    assert read_gpus({"error": "NVML crashed (SIGSEGV)"}, None) == ((), ("NVML crashed (SIGSEGV)",))


def test_chip_to_chip_links_and_rdma_are_read():
    up, down = {"status": 1, "max_bw": 40000}, {"status": 0, "max_bw": 40000}
    answer = {"index": 0, "pci": "00000009:01:00.0", "cc": [9, 0], "links": [], "c2c": [up, up, down]}
    gpus, _ = read_gpus({"gpus": [answer]}, {"gpu_direct_rdma": {"0009:01:00.0": 0}})
    assert (gpus[0].c2c, gpus[0].gdr) == ((2, 40000), False)


def test_a_module_in_the_working_directory_is_not_run(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('taken from the working directory')")
    monkeypatch.chdir(tmp_path)
    assert "working directory" not in str(live_cuda())


def test_an_interrupt_ends_the_child(tmp_path, monkeypatch):
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def interrupted(child, timeout):
        while not pid.exists() or not pid.read_text():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask(python(code), "NVML", 30)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_unknown_rdma_is_told_by_gpu():
    answers = [{"index": i, "pci": f"00000000:0{i}:00.0", "cc": [9, 0]} for i in (1, 2)]
    gpus, warnings = read_gpus({"gpus": answers}, {"gpu_direct_rdma": {"0000:01:00.0": 0, "0000:02:00.0": None}})
    assert [gpu.gdr for gpu in gpus] == [False, None]
    assert warnings == ("CUDA does not tell of GPU 2: GPUDirect RDMA is taken as supported",)
