# SPDX-License-Identifier: Apache-2.0
"""The health of GPUs, asked of NVML in a child: what fails has a reason, and what hangs costs no other GPU."""

import json
import sys
import time
from pathlib import Path

import pytest

from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.described.build import build
from railgauge.topo.facts.named_source import fixture_path
from railgauge.topo.facts.redaction.redaction import redact
from railgauge.topo.facts.shapes import misfit
from railgauge.topo.facts.sources import gpu_health
from railgauge.topo.facts.sources.child import ask, ask_lines
from railgauge.topo.facts.sources.gpu_health import live_gpu_health, live_gpu_health_later, read_gpu_health
from railgauge.topo.facts.sources.gpu_health_child import NVLINK_FIELDS

FAKE = Path(__file__).with_name("fake_health_nvml.py")
CHILD = (
    "import importlib.util as u, os, sys; os.environ['FAKE_NVML'] = sys.argv[2]; "
    "spec = u.spec_from_file_location('pynvml', sys.argv[1]); module = u.module_from_spec(spec); "
    "sys.modules['pynvml'] = module; spec.loader.exec_module(module); "
    "from railgauge.topo.facts.sources.gpu_health_child import main; main()"
)
NOBODY = CaptureReader(Capture(manifest={}))


def live(fault="", timeout_s=60.0):
    return live_gpu_health(NOBODY, (sys.executable, "-c", CHILD, str(FAKE), fault), timeout_s)


def read(answer):
    return read_gpu_health(CaptureReader(Capture(manifest={}, facts={"gpu_health": answer})))


def test_every_reading_is_read():
    answer = live()
    assert misfit(json.loads(json.dumps(answer)), "facts/gpu_health.json") is None
    health = read(answer)
    assert health.error == ""
    assert health.confidential == {"feature": 1, "environment": 2, "devtools": 0, "ready": 1}
    first, second = health.gpus
    assert (first.bus_id, second.bus_id, first.name) == ("0000:07:00.0", "0000:08:00.0", "GPU0 (0000:07:00.0)")
    assert (first.ecc_mode, first.sram_threshold, first.persistence, first.compute_mode) == ((1, 1), True, True, 3)
    assert first.ecc["dram_corrected_volatile"] == 2
    assert first.ecc["sram_uncorrected_aggregate"] == 117
    assert first.remapped_rows == {"corrected": 3, "uncorrected": 1, "pending": 1, "failed": 0}
    assert first.remap_banks == {"max": 638, "high": 1, "partial": 1, "low": 0, "none": 0}
    assert first.nvlinks[7] == {"replay": 7, "recovery": 7, "crc": 7, "crc_data": 7}
    assert (first.pcie_replays, first.clock_reasons, first.recovery_action) == (4, 0x44, 1)
    assert (first.throttled_ns["power"], first.throttled_ns["hw_thermal"]) == (5_000_000, 7)
    assert (first.clocks_mhz["sm"], first.clocks_mhz["memory_max"], first.power_mw["limit"]) == (1001, 2002, 700_000)


def test_what_is_not_supported_is_unknown_with_its_reason():
    first = read(live()).gpus[0]
    assert first.retired_pages == {"single_bit": None, "double_bit": None, "pending": None}
    assert first.reasons["retired_pages"] == first.reasons["temperature_c"] == "Not Supported"
    assert first.power_mw["draw"] is None


def test_a_gpu_that_refuses_costs_its_own_readings():
    health = read(live("refuses"))
    assert health.gpus[0].pcie_replays == 4
    assert [gpu.bus_id for gpu in health.gpus] == ["0000:07:00.0"]
    assert "GPU1" in health.error
    assert "Not Supported" in health.error


def test_a_gpu_that_hangs_costs_its_own_readings_and_the_call_is_named():
    health = read(live("hangs", timeout_s=8.0))
    assert [gpu.index for gpu in health.gpus] == [0]
    assert health.error == "NVML did not answer within 8 s in nvmlDeviceGetPciInfo of GPU1"


def test_nvml_that_hung_is_not_asked_again():
    silent = CaptureReader(Capture(manifest={}, facts={"nvml": {"error": "NVML did not answer within 20 s"}}))
    answer = live_gpu_health(silent, (sys.executable, "-c", "import time; time.sleep(600)"))
    assert answer == {"gpus": [], "error": "NVML did not answer within 20 s"}


def test_a_child_that_crashes_names_its_call():
    code = "from railgauge.topo.facts.sources.child import doing; import os; doing('nvmlX'); os.kill(os.getpid(), 9)"
    assert ask((sys.executable, "-c", code), "NVML", 30) == {"error": "NVML crashed (SIGKILL) in nvmlX"}


def test_lines_that_were_finished_are_kept():
    code = 'print(\'{"a": 1}\', flush=True); print(\'{"b": \', end="", flush=True); import time; time.sleep(600)'
    lines, error = ask_lines((sys.executable, "-c", code), "NVML", 3.0)
    assert lines == [{"a": 1}]
    assert "did not answer" in error


def test_the_second_reading_is_a_second_later(monkeypatch):
    slept = []
    monkeypatch.setattr(gpu_health.time, "sleep", slept.append)
    monkeypatch.setattr(gpu_health, "live_gpu_health", lambda reader: {"gpus": []})
    first = {"at_ms": time.monotonic_ns() // 1_000_000, "gpus": []}
    live_gpu_health_later(CaptureReader(Capture(manifest={}, facts={"gpu_health": first})))
    assert 0 < slept[0] <= gpu_health.BETWEEN_S


def test_the_real_child_always_answers():
    assert {"gpus", "error"} & live_gpu_health(NOBODY).keys()


def test_a_machine_without_a_reading_says_so():
    assert read_gpu_health(NOBODY).error == "GPU health was not captured"


def test_a_described_machine_has_health_and_a_kernel_log(tmp_path):
    text = f"""base = "{fixture_path("dgx-h100")}"
[health]
gpus = true
kernel_log = ["[1] NVRM: Xid (PCI:0000:1b:00): 79, pid=1, name=alice, by GPU-0e21a5b6-0d1c-4a5e-9f53-5d6f6e6a1b2c"]
[facts.gpu_health]
gpus.2.ecc.dram_uncorrected_volatile = 4
"""
    made = build(text.encode(), str(tmp_path / "machine.toml"))
    health = read_gpu_health(CaptureReader(made))
    assert len(health.gpus) == 8
    assert (health.gpus[2].ecc["dram_uncorrected_volatile"], health.gpus[1].ecc["dram_uncorrected_volatile"]) == (4, 0)
    assert len(health.gpus[0].nvlinks) == 18
    assert made.facts["kernel_log"]["events"][0]["code"] == 79
    hidden = str(redact(made, b"k" * 32).facts)
    assert "0e21a5b6" not in hidden
    assert "alice" not in hidden


def test_a_described_machine_may_lack_readings():
    path = fixture_path("dgx-h100")
    text = f'base = "{path}"\n[health]\ngpus = true\nunsupported = ["remapped_rows", "ecc", "nvlinks", "persistence"]\n'
    made = build(f'{text}kernel_log_error = "Operation not permitted"'.encode(), path)
    first = read_gpu_health(CaptureReader(made)).gpus[0]
    assert (first.remapped_rows, dict(first.ecc), first.nvlinks, first.persistence) == (None, {}, (), None)
    assert first.reasons["ecc"] == "Not Supported"
    assert made.facts["kernel_log"] == {"error": "Operation not permitted"}


@pytest.mark.parametrize("bad", [{"gpus": [{"index": 0, "ecc": {"a": "x"}}]}, {"gpus": [{}]}, {"gpus": 1}])
def test_other_shapes_are_refused(bad):
    assert misfit(bad, "facts/gpu_health.json")


def test_counters_of_nvlinks_have_nvmls_numbers():
    nvml = pytest.importorskip("pynvml")
    old = {name: f"ERROR_DL_{name.upper()}" for name in ("replay", "recovery", "crc")}
    new = {
        "malformed_packets": "MALFORMED_PACKET_ERRORS",
        "buffer_overruns": "BUFFER_OVERRUN_ERRORS",
        "receive_errors": "RCV_ERRORS",
        "remote_errors": "RCV_REMOTE_ERRORS",
        "general_errors": "RCV_GENERAL_ERRORS",
        "link_integrity_errors": "LOCAL_LINK_INTEGRITY_ERRORS",
        "transmit_discards": "XMIT_DISCARDS",
        "recovery_failed": "LINK_RECOVERY_FAILED_EVENTS",
        "recovery_events": "LINK_RECOVERY_EVENTS",
        "effective_errors": "EFFECTIVE_ERRORS",
        "effective_ber": "EFFECTIVE_BER",
        "symbol_errors": "SYMBOL_ERRORS",
        "symbol_ber": "SYMBOL_BER",
    }
    names = old | {name: f"COUNT_{nvmls}" for name, nvmls in new.items()}
    assert {name: getattr(nvml, f"NVML_FI_DEV_NVLINK_{nvmls}") for name, nvmls in names.items()} == NVLINK_FIELDS
