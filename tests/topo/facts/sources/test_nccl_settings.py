# SPDX-License-Identifier: Apache-2.0
"""NCCL's settings on a machine: the environment before the user's file before /etc/nccl.conf, nothing trimmed."""

import pytest

from railgauge.topo.facts.capture import Capture, CaptureReader, dumps, loads
from railgauge.topo.facts.redaction.redaction import redact
from railgauge.topo.facts.sources.nccl_settings import Setting, export_files, live_settings, read_settings

HOME, ETC = "/home/jdoe/.nccl.conf", "/etc/nccl.conf"


def settings(environment=None, **texts):
    facts = {"settings": {"environment": environment or {}, "files": [HOME, ETC]}}
    files = {path: text for path, text in ((HOME, texts.get("home")), (ETC, texts.get("etc"))) if text is not None}
    found = read_settings(CaptureReader(Capture(manifest={}, texts=files, facts=facts)))
    return {one.name: (one.value, one.origin) for one in found}


def test_the_environment_wins_then_the_users_file_then_the_hosts():
    text = "NCCL_A=1\nNCCL_B=1\nNCCL_C=1"
    assert settings({"NCCL_A": "0"}, home="NCCL_B=2", etc=text) == {
        "NCCL_A": ("0", "environment"),
        "NCCL_B": ("2", HOME),
        "NCCL_C": ("1", ETC),
    }


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("NCCL_A=1", {"NCCL_A": ("1", ETC)}),
        ("NCCL_A = 1", {"NCCL_A ": (" 1", ETC)}),
        ('NCCL_A="x=y"', {"NCCL_A": ('"x=y"', ETC)}),
        ("NCCL_A=", {"NCCL_A": ("", ETC)}),
        ("#NCCL_A=1", {}),
        ("NCCL_A", {}),
        ("OTHER=1", {}),
        ("NCCL_A=1\nNCCL_A=2", {"NCCL_A": ("1", ETC)}),
    ],
)
def test_lines_are_read_as_nccl_reads_them(line, found):
    assert settings(etc=line) == found


def test_what_nobody_asked_for_is_unknown_and_not_empty():
    assert read_settings(CaptureReader(Capture(manifest={}))) is None


def test_the_live_machine_tells_its_own_and_where_the_files_are():
    answer = live_settings({"NCCL_DEBUG": "INFO", "PATH": "/bin", "HOME": "/x", "NCCL_CONF_FILE": "/etc/mine.conf"})
    assert answer["environment"] == {"NCCL_CONF_FILE": "/etc/mine.conf", "NCCL_DEBUG": "INFO"}
    assert answer["files"] == ["/etc/mine.conf", ETC]
    assert live_settings({})["files"][0].endswith("/.nccl.conf")


def test_files_count_in_a_process_where_its_environment_says_nothing(tmp_path):
    file = tmp_path / "conf"
    file.write_text("NCCL_IB_TC=106\nNCCL_DEBUG=INFO\nPATH=/x\n")
    environment = {"NCCL_CONF_FILE": str(file), "NCCL_DEBUG": "WARN"}
    export_files(environment)
    assert environment == {"NCCL_CONF_FILE": str(file), "NCCL_DEBUG": "WARN", "NCCL_IB_TC": "106"}


def test_a_redacted_capture_names_no_user_host_or_address_and_reads_as_before():
    environment = {"NCCL_COMM_ID": "192.168.7.3:4444", "NCCL_HOSTID": "gpu-03", "NCCL_SOCKET_IFNAME": "eth0"}
    capture = Capture(
        manifest={"schema": "railgauge/capture/1", "host": "gpu-03"},
        texts={HOME: "NCCL_IB_ADDR_RANGE=192.168.7.0/24", ETC: "NCCL_DEBUG=INFO"},
        facts={"settings": {"environment": environment, "files": [HOME, ETC]}},
    )
    redacted = loads(dumps(redact(capture, bytes(32))), "x")
    assert not any(word in str(redacted) for word in ("jdoe", "192.168.7.", "gpu-03"))
    found = {one.name: one for one in read_settings(CaptureReader(redacted))}
    assert found["NCCL_DEBUG"] == Setting(name="NCCL_DEBUG", value="INFO", origin=ETC)
    assert found["NCCL_SOCKET_IFNAME"].value == "eth0"
    assert found["NCCL_IB_ADDR_RANGE"].value.endswith("/24")
    assert found["NCCL_COMM_ID"].value.startswith("192.168.")
