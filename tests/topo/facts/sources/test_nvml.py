# SPDX-License-Identifier: Apache-2.0
"""NVML and CUDA in a child: hanging, crashing, babbling and absent libraries cost a warning, never the tool."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from tests.patience import HANGS_AFTER_S

from railgauge.topo.facts.shapes import misfit
from railgauge.topo.facts.sources import nvml_child
from railgauge.topo.facts.sources.child import ask
from railgauge.topo.facts.sources.cuda import live_cuda
from railgauge.topo.facts.sources.nvml import count_links, live_nvml, max_nvlinks, read_gpus, read_links


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_a_child_that_hangs_is_given_up():
    answer = live_nvml(python("import time; time.sleep(600)"), timeout_s=0.5)
    assert answer == {"error": "NVML did not answer within 0.5 s"}


def test_a_child_that_ignores_signals_is_given_up():
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    assert "did not answer" in live_nvml(python(code), timeout_s=0.5)["error"]


def test_grandchildren_that_hold_the_pipe_do_not_hold_us():
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    assert "did not answer" in ask(python(code), "NVML", 1.0)["error"]


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
def test_a_child_that_crashes_is_named(number):
    code = f"import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.kill(os.getpid(), {int(number)})"
    assert live_nvml(python(code), HANGS_AFTER_S) == {"error": f"NVML crashed ({number.name})"}


def test_a_child_that_fails_says_why():
    assert live_nvml(python("raise SystemExit('no driver')"), HANGS_AFTER_S) == {"error": "NVML failed: no driver"}


@pytest.mark.parametrize("text", ["hello", "[1]", ""])
def test_a_child_that_babbles_is_refused(text):
    assert "not" in live_nvml(python(f"print({text!r})"), HANGS_AFTER_S)["error"]


def test_a_command_that_does_not_exist():
    assert "cannot start" in live_nvml(("/nonexistent/python",))["error"]


def test_an_absent_module_is_a_reason():
    code = "import sys; sys.modules['pynvml'] = None\nfrom railgauge.topo.facts.sources.nvml_child import main; main()"
    assert "pynvml" in live_nvml(python(code), HANGS_AFTER_S)["error"]


def test_the_real_children_always_answer():
    assert {"gpus", "error"} & live_nvml().keys()
    assert {"gpu_direct_rdma", "error"} & live_cuda().keys()


@pytest.mark.parametrize(("answer", "kind"), [(0, "gpu"), (1, "cpu"), (2, "switch"), (255, None), (None, None)])
def test_the_other_end_of_an_nvlink_is_named_by_nvmls_number(answer, kind):
    assert [one.remote_kind for one in read_links([{"type": answer}])] == [kind]


def test_the_other_end_of_an_nvlink_is_unknown_where_nvml_was_not_asked():
    assert [one.remote_kind for one in read_links([{}])] == [None]


def link(remote: str, **changes: int) -> dict[str, object]:
    return {"state": 1, "p2p": 1, "remote": remote, **changes}


def test_links_are_counted_by_target():
    links = [link("FFFFFFFF:FF:FF.0"), link("FFFFFFFF:FF:FF.0"), link("00000000:3B:00.0"), link("x", state=0)]
    assert count_links(read_links([*links, link("y", p2p=0)]), 90) == (("fffffff:ff:ff.0", 2), ("0000:3b:00.0", 1))


def test_older_gpus_are_asked_for_fewer_links():
    assert [max_nvlinks(sm) for sm in (52, 60, 70, 80, 90, 100)] == [0, 4, 6, 12, 18, 18]
    assert count_links(read_links([link("00000000:3B:00.0")] * 18), 70) == (("0000:3b:00.0", 6),)


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
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"

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
    assert warnings == ("CUDA does not report GPU 2: GPUDirect RDMA is assumed to be supported",)


def test_links_tell_what_is_at_their_other_end():
    answers = [link("00000000:3B:00.0", version=7, type=2), link("x", state=None, type=255), {}]
    first, second, third = read_links(answers)
    assert (first.number, first.remote, first.remote_kind, first.version, first.usable) == (
        0,
        "0000:3b:00.0",
        "switch",
        7,
        True,
    )
    assert (second.up, second.remote_kind, second.usable) == (None, None, False)
    assert (third.up, third.remote, third.usable) == (None, None, False)


def test_without_nvml_the_gpus_are_those_of_cuda():
    cuda = {"gpus": [{"pci": "0000:3b:00.0", "name": "NVIDIA A", "cc": [9, 0]}], "gpu_direct_rdma": {"0000:3b:00.0": 1}}
    gpus, warnings = read_gpus({"error": "NVML: Driver/library version mismatch"}, cuda)
    assert [(gpu.bus_id, gpu.index, gpu.sm, gpu.gdr, gpu.links) for gpu in gpus] == [("0000:3b:00.0", 0, 90, True, ())]
    assert "mismatch" in warnings[0]
    assert "NVLinks are unknown" in warnings[1]


def test_peer_access_fabric_and_mig_are_read():
    fabric = {"state": 3, "status": 0, "clique": 1, "cluster": "ab" * 16, "health": 0}
    answer = {"index": 0, "pci": "00000000:07:00.0", "cc": [10, 0], "mig": 1, "fabric": fabric, "p2p": [None, [0, 2]]}
    (gpu,), _ = read_gpus({"gpus": [answer]}, {"dma_buf": {"0000:07:00.0": 1}})
    assert (gpu.mig, gpu.dma_buf, gpu.p2p) == (True, True, ((1, 0, 2),))
    assert gpu.fabric is not None
    assert (gpu.fabric.state, gpu.fabric.clique) == (3, 1)


class FakeNvml:
    """pynvml as far as the child asks it, for two GPUs of which one answers only half of the questions."""

    NVMLError = RuntimeError
    NVML_SUCCESS = 0

    class c_nvmlGpuFabricInfo_v2_t(ctypes.Structure):
        _fields_ = (
            ("state", ctypes.c_uint),
            ("status", ctypes.c_uint),
            ("cliqueId", ctypes.c_uint),
            ("clusterUuid", ctypes.c_uint8 * 16),
            ("healthMask", ctypes.c_uint),
        )

    def __getattr__(self, name):
        if name.startswith(("nvmlDevice", "nvmlSystem")):
            return lambda *arguments: self.answer(name, *arguments)
        raise AttributeError(name)

    def nvmlInit(self):
        return None

    def nvmlDeviceGetCount(self):
        return 2

    def answer(self, name, *arguments):
        answers = {
            "nvmlDeviceGetHandleByIndex": arguments[0] if arguments else None,
            "nvmlDeviceGetCudaComputeCapability": (9, 0),
            "nvmlDeviceGetPciInfo": SimpleNamespace(busId=b"00000000:07:00.0"),
            "nvmlDeviceGetP2PStatus": 0,
            "nvmlDeviceGetMigMode": [1, 0],
            "nvmlDeviceGetNvLinkState": 1,
        }
        if name not in answers or (arguments and arguments[0] == 1 and "Handle" not in name):
            raise self.NVMLError("Not Supported")
        return answers[name]


def test_the_child_puts_null_where_nvml_does_not_answer(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml())
    answer = nvml_child.collect()
    first, second = answer["gpus"]
    assert answer["driver"] is None
    assert (first["pci"], first["cc"], first["mig"], first["p2p"]) == ("00000000:07:00.0", [9, 0], 1, [None, [0, 0]])
    assert first["links"][0] == {"state": 1, "p2p": None, "remote": None, "version": None, "type": None}
    assert (second["pci"], second["cc"], second["mig"], second["fabric"]) == (None, None, None, None)
    assert misfit(json.loads(json.dumps(answer)), "facts/nvml.json") is None


def test_each_call_is_named_with_its_gpu_before_it_is_made(monkeypatch, capsys):
    """So that the reason names the GPU on which NVML hangs."""
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml())
    nvml_child.collect()
    calls = capsys.readouterr().err.splitlines()
    assert calls[0] == "call: nvmlInit"
    assert {"call: nvmlDeviceGetHandleByIndex of GPU1", "call: nvmlDeviceGetP2PStatus of GPU0"} <= set(calls)


class OldNvml(FakeNvml):
    """pynvml of before two of the calls."""

    c_nvmlGpuFabricInfo_v2_t = property()  # not there

    def __getattr__(self, name):
        if name == "nvmlDeviceGetMigMode":
            raise AttributeError(name)
        return super().__getattr__(name)


def test_a_pynvml_without_a_call_answers_the_others(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", OldNvml())
    first, _ = nvml_child.collect()["gpus"]
    assert (first["mig"], first["fabric"], first["cc"]) == (None, None, [9, 0])
