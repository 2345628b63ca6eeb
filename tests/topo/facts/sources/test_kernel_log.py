# SPDX-License-Identifier: Apache-2.0
"""The kernel's log: messages of NVIDIA's driver in every form of log, in bounded memory and time, and every reason."""

import errno
import os
import sys
import threading
import tracemalloc

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.shapes import misfit
from railgauge.topo.facts.sources import kernel_events
from railgauge.topo.facts.sources.kernel_events import KernelEvents, read_events
from railgauge.topo.facts.sources.kernel_log import kernel_log_file, live_kernel_log, read_kernel_log

FELL = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus."
SILENT = (sys.executable, "-c", "")
BOOT = "[    0.000000] Linux version 6.8\n"


def events(*lines):
    log = KernelEvents()
    log.read("\n".join(lines).encode())
    return read_events(log.facts())


def journal(text):
    return (sys.executable, "-c", f"print({text!r})")


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        (f"[12345.678901] {FELL}", 12345),
        (f"<4>[   99.000001] {FELL}", 99),
        (f"Nov 22 18:29:55 gpu-03 kernel: [  966.503025] {FELL}", 966),
        (f"[Sun Nov 22 18:29:55 2026] {FELL}", None),
        (f"2026-11-22T18:29:55,503025+00:00 {FELL}", None),
        (FELL.replace("PCI:", "").replace("0000:3b", "00000000:3B"), None),
        (FELL.replace("3b:00)", "3b:00 GPU-I:05)"), None),
    ],
)
def test_an_xid_is_found_in_every_form_of_log(line, seconds):
    [event] = events("some other line", line)
    assert (event.source, event.bus_id, event.code, event.times) == ("xid", "0000:3b:00.0", 79, 1)
    assert (event.first_s, event.last_s, event.last_line) == (seconds, seconds, 2)
    assert event.text == "pid=4711, GPU has fallen off the bus."


def test_messages_of_one_kind_are_one_event():
    [event] = events(f"[1.0] {FELL}", "[2.0] other", f"[3.0] {FELL.replace('4711', '8')}")
    assert (event.times, event.first_s, event.last_s, event.last_line) == (2, 1, 3, 3)
    assert event.text.startswith("pid=8")


def test_lines_are_counted_once_however_many_messages_there_are():
    class Block(bytes):
        looked = 0

        def count(self, what, *ends):
            begin, end = ends or (0, len(self))
            Block.looked += end - begin
            return super().count(what, *ends)

    lines = [f"[{n}.0] other" if n % 3 else f"[{n}.0] {FELL.replace('79', str(n % 7))}" for n in range(300)]
    log = KernelEvents()
    log.read(Block("\n".join(lines).encode()))
    assert {event.code: event.last_line for event in read_events(log.facts())} == {
        n % 7: n + 1 for n in range(0, 300, 3)
    }
    assert Block.looked <= 2 * len("\n".join(lines))


def test_an_sxid_says_whether_it_is_fatal():
    fatal, other = events(
        "[131453.740743] nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        "[131453.740758] nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Data {0x50610002, 0x10100030}",
        "[131453.740760] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress error",
    )
    assert (fatal.source, fatal.bus_id, fatal.code, fatal.kind) == ("sxid", "0000:a9:00.0", 20034, "fatal")
    assert (other.code, other.kind) == (12028, "nonfatal")


def test_nvlink_faults_and_recovery_actions_have_a_kind():
    found = events(
        "[1.0] NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6)",
        "[2.0] NVRM: Xid (PCI:0009:01:00): 145, RLW_CTRL Nonfatal XC0 i0 Link 00 (0x00000003)",
        "[3.0] NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)",
        "[4.0] NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x4 (Drain and Reset) to 0x0 (None)",
    )
    assert [one.kind for one in found] == ["fatal", "nonfatal", "0x4", "0x0"]


def test_a_gpu_that_fell_off_the_bus_is_reported_once():
    lost, other = events(
        f"[1.0] {FELL}",
        "[1.0] NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
        "[1.0] NVRM: GPU 0000:5e:00.0: GPU has fallen off the bus.",
    )
    assert (lost.bus_id, lost.times) == ("0000:3b:00.0", 1)
    assert (other.bus_id, other.code, other.times) == ("0000:5e:00.0", 79, 1)


@pytest.mark.parametrize(
    "line", ["NVRM: Xid error: xyz, invalid data", "SXid (invalid): some error", "NVRM: Xid (PCI:0000:3b:00): x"]
)
def test_what_has_no_number_is_no_event(line):
    assert events(line) == ()


def test_events_are_bounded(monkeypatch):
    monkeypatch.setattr(kernel_events, "MOST_EVENTS", 3)
    log = KernelEvents()
    log.read("".join(f"[1.0] NVRM: Xid (PCI:0000:3b:00): {code}, a\n" for code in range(10)).encode())
    assert (len(log.facts()), log.dropped) == (3, 7)


def test_a_file_is_read_with_its_reasons(tmp_path):
    path = tmp_path / "dmesg"
    path.write_text(f"{BOOT}[1.0] {FELL}\n")
    answer = kernel_log_file(str(path))
    assert (answer["lines"], answer["missing"], len(answer["events"])) == (2, "", 1)
    assert misfit(answer, "facts/kernel_log.json") is None
    path.write_text("a list of things to do\n")
    assert kernel_log_file(str(path))["error"] == f"{path}: not a kernel log"
    path.write_text("")
    assert kernel_log_file(str(path))["error"] == f"{path}: empty"
    assert "directory" in kernel_log_file(str(tmp_path))["error"]
    with pytest.raises(InputError, match="no such file"):
        kernel_log_file(str(tmp_path / "absent"))


def test_a_file_without_rights_is_a_reason(tmp_path):
    path = tmp_path / "dmesg"
    path.write_text(BOOT)
    path.chmod(0)
    if os.geteuid() == 0:
        pytest.skip("root may read all")
    assert "Permission denied" in kernel_log_file(str(path))["error"]


def test_a_large_log_takes_little_memory(tmp_path):
    path, line = tmp_path / "dmesg", b"[12345.678901] usb 1-1: new high-speed device number 2 using xhci\n"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(line * 16_000)
        file.write(f"[99999.0] {FELL}\n".encode())
    tracemalloc.start()
    answer = kernel_log_file(str(path))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer["events"][0]["last_line"] == 64 * 16_000 + 1
    assert most < 8 << 20


def test_a_line_without_an_end_takes_little_memory(tmp_path):
    path = tmp_path / "dmesg"
    with path.open("wb") as file:
        file.write(b"[1.0] ")
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    tracemalloc.start()
    kernel_log_file(str(path))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 << 20


def test_a_log_that_takes_too_long_is_cut_and_says_so(tmp_path):
    path = tmp_path / "dmesg"
    path.write_text(BOOT * 10_000)
    answer = kernel_log_file(str(path), timeout_s=-1.0)
    assert answer["missing"].startswith(f"{path}: read for -1 s, ")
    assert answer["lines"] < 10_000


def test_a_file_in_place_of_the_ring_buffer_is_no_wait(tmp_path):
    """/dev/kmsg is read without waiting: one record a read."""
    pipe = tmp_path / "kmsg"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, f"4,0,12000001,-;{FELL}\n".encode())
    answer = live_kernel_log(str(pipe), SILENT)
    os.close(writer)
    assert (answer["events"][0]["code"], answer["events"][0]["last_s"], answer["missing"]) == (79, 12, "")


def test_where_the_ring_buffer_is_closed_the_journal_is_read(tmp_path):
    answer = live_kernel_log(str(tmp_path / "absent"), journal(f"{BOOT}[7.0] gpu-03 kernel: {FELL}"))
    assert (answer["events"][0]["code"], answer["missing"]) == (79, "")


def test_overwritten_lines_are_looked_for_in_the_journal_or_named(tmp_path):
    pipe = tmp_path / "kmsg"
    os.mkfifo(pipe)
    for command, missing in ((journal(BOOT), ""), (SILENT, "its 812 oldest lines are overwritten")):
        writer = os.open(pipe, os.O_RDWR)
        os.write(writer, b"4,812,12000001,-;some line\n")
        answer = live_kernel_log(str(pipe), command)
        os.close(writer)
        assert missing in answer["missing"]
        assert bool(missing) == bool(answer["missing"])


@pytest.mark.parametrize("command", [SILENT, ("/nonexistent/journalctl",)])
def test_without_either_there_are_both_reasons(tmp_path, command):
    error = live_kernel_log(str(tmp_path / "absent"), command)["error"]
    assert "No such file" in error
    assert "journalctl" in error or "no kernel messages" in error


def test_what_may_not_be_read_says_what_to_try(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "open", refuse)
    log = read_kernel_log(CaptureReader(Capture(manifest={}, facts={"kernel_log": live_kernel_log("kmsg", SILENT)})))
    assert log.gap.startswith("kmsg: Operation not permitted (run as root); ")
    assert log.gap.endswith("; check --dmesg FILE reads it from a file")
    given = read_kernel_log(
        CaptureReader(Capture(manifest={}, facts={"kernel_log": {"source": "x", "error": "x: no"}}))
    )
    assert given.gap == "x: no"


def test_a_journal_that_hangs_is_given_up(tmp_path):
    command = (sys.executable, "-c", "import time; time.sleep(600)")
    found = []
    thread = threading.Thread(target=lambda: found.append(live_kernel_log(str(tmp_path / "absent"), command, 0.5)))
    thread.start()
    thread.join(30)
    assert "error" in found[0]


def test_a_capture_without_it_says_so():
    assert read_kernel_log(CaptureReader(Capture(manifest={}))).error == "the kernel's log was not captured"


def test_this_machine_always_answers():
    assert {"events", "error"} & live_kernel_log().keys()
