# SPDX-License-Identifier: Apache-2.0
"""NCCL's settings on a machine: the environment before the user's file before /etc/nccl.conf, nothing trimmed."""

import pwd

import pytest

from railgauge.topo.facts.capture import Capture, CaptureReader, dumps, loads
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.recording import capture_of
from railgauge.topo.facts.redaction.redaction import redact
from railgauge.topo.facts.sources.nccl_settings import (
    Setting,
    export_files,
    live_settings,
    read_former,
    read_settings,
)

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
        ("OTHER=1", {"OTHER": ("1", ETC)}),
        ("export NCCL_A=1", {"export NCCL_A": ("1", ETC)}),
        ('if [ "$X" = 1 ]', {}),
        ("NCCL_A=1\nNCCL_A=2", {"NCCL_A": ("1", ETC)}),
        ("NCCL_A=1 \t", {"NCCL_A": ("1 \t", ETC)}),
        ("NCCL_A=1\r\nNCCL_B=2\r\r", {"NCCL_A": ("1", ETC), "NCCL_B": ("2\r", ETC)}),
        ("NCCL_A=1\x0cNCCL_B=2", {"NCCL_A": ("1\x0cNCCL_B=2", ETC)}),
        ("NCCL_A=1\0" + "2", {"NCCL_A": ("1", ETC)}),
        (f"NCCL_A={'é' * 600}", {"NCCL_A": ("é" * 511 + "\ufffd", ETC)}),
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


def test_the_users_file_is_in_the_home_of_the_environment_and_once_was_in_that_of_the_user_database(monkeypatch):
    monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd(("jdoe", "x", 7, 7, "", "/home/jdoe", "/bin/sh")))
    assert live_settings({"HOME": "/home/jdoe"}) == {"environment": {}, "files": [HOME, ETC]}
    assert live_settings({"HOME": "/scratch"}) == {
        "environment": {},
        "files": ["/scratch/.nccl.conf", ETC],
        "former": HOME,
    }
    assert live_settings({}) == {"environment": {}, "files": [ETC], "former": HOME}


def test_a_file_of_another_home_is_read_beside_those_in_force():
    facts = {"settings": {"environment": {}, "files": [ETC], "former": HOME}}
    reader = CaptureReader(Capture(manifest={}, texts={HOME: "NCCL_A=1", ETC: "NCCL_B=1"}, facts=facts))
    assert [one.name for one in read_settings(reader)] == ["NCCL_B"]
    assert [(one.name, one.origin) for one in read_former(reader)] == [("NCCL_A", HOME)]


def test_a_carriage_return_is_told_of_and_not_in_the_value(tmp_path):
    file = tmp_path / "conf"
    file.write_bytes(b"NCCL_NET=IB\r\nNCCL_ALGO=Ring\n")
    live = LiveReader("/", {"settings": lambda: live_settings({"NCCL_CONF_FILE": str(file)})})
    found = {one.name: (one.value, one.carriage_return) for one in read_settings(live) if one.is_of_file}
    assert found == {"NCCL_NET": ("IB", True), "NCCL_ALGO": ("Ring", False)}
    replayed = CaptureReader(loads(dumps(capture_of(live, "host")), "x.tar.gz"))
    assert read_settings(replayed) == read_settings(live)


def test_files_count_in_a_process_where_its_environment_says_nothing(tmp_path):
    file = tmp_path / "conf"
    file.write_text("NCCL_IB_TC=106\nNCCL_DEBUG=INFO\nPATH=/x\n")
    environment = {"NCCL_CONF_FILE": str(file), "NCCL_DEBUG": "WARN"}
    export_files(environment)
    assert environment == {"NCCL_CONF_FILE": str(file), "NCCL_DEBUG": "WARN", "NCCL_IB_TC": "106", "PATH": "/x"}


def test_a_variable_of_another_program_that_the_environment_has_is_not_that_of_a_file(tmp_path):
    file = tmp_path / "conf"
    file.write_text("CUDA_VISIBLE_DEVICES=0\nFOO=1\n")
    answer = live_settings({"NCCL_CONF_FILE": str(file), "FOO": "2"})
    assert answer["overridden"] == ["FOO"]
    found = read_settings(LiveReader("/", {"settings": lambda: answer}))
    assert [one.name for one in found if one.is_of_file] == ["CUDA_VISIBLE_DEVICES"]


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


def test_a_capture_has_the_names_of_other_variables_and_not_their_values(tmp_path):
    file = tmp_path / "conf"
    file.write_text("PASSWORD=hunter2\nNCCL_NET=IB\nCUDA_VISIBLE_DEVICES=0\nnothing set here\n")
    live = LiveReader("/", {"settings": lambda: live_settings({"NCCL_CONF_FILE": str(file)})})
    read_settings(live)
    kept = capture_of(live, "host").texts[str(file)]
    assert kept == "PASSWORD=(not recorded)\nNCCL_NET=IB\nCUDA_VISIBLE_DEVICES=0"
