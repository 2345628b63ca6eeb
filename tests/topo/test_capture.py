# SPDX-License-Identifier: Apache-2.0
"""Captures: what replays is what was read; hostile archives are refused."""

import gzip
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from railgauge.fixtures.synthetic import NIC_CLASS, SyntheticMachine
from railgauge.topo import machine, xml
from railgauge.topo.errors import InputError
from railgauge.topo.machine import load_machine, record
from railgauge.topo.scan import scan
from railgauge.topo.sources.capture import SCHEMA, Capture, CaptureReader, RecordingReader, dumps, loads
from railgauge.topo.sources.reader import LiveReader


def save(capture: Capture, path: str) -> None:
    Path(path).write_bytes(dumps(capture))


def load(path: str) -> Capture:
    return loads(Path(path).read_bytes(), path)


def test_a_synthetic_machine_replays(tmp_path):
    made = SyntheticMachine(tmp_path / "root")
    made.numa(0, "0-3", "f")
    made.gpu("0000:00:01.0", "0000:01:00.0", "0000:02:00.0", "0000:03:00.0", links=("FFFFFFFF:FF:FF.0",))
    made.nic("eth0", "0000:00:01.0", "0000:01:00.0", "0000:02:01.0", "0000:04:00.0")
    reader = RecordingReader(made.reader())
    live = scan(reader, {})
    save(reader.capture("synthetic"), str(tmp_path / "c.tar.gz"))
    replayed = scan(CaptureReader(load(str(tmp_path / "c.tar.gz"))), {})
    assert xml.dumps(replayed.topology) == xml.dumps(live.topology)
    assert (replayed.warnings, replayed.topology.numa) == (live.warnings, live.topology.numa)


def test_a_folder_that_was_empty_replays_empty(tmp_path):
    (tmp_path / "sys/class/infiniband").mkdir(parents=True)
    reader = RecordingReader(LiveReader(str(tmp_path)))
    assert reader.entries("/sys/class/infiniband") == ()
    save(reader.capture("x"), str(tmp_path / "c.tar.gz"))
    replayed = CaptureReader(load(str(tmp_path / "c.tar.gz")))
    assert replayed.entries("/sys/class/infiniband") == ()
    assert replayed.realpath("/sys/class/infiniband") == "/sys/class/infiniband"


def test_the_live_machine_replays(tmp_path, monkeypatch):
    for name in ("NCCL_HOSTID", "NCCL_SOCKET_IFNAME", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    path = str(tmp_path / "live.tar.gz")
    save(record()[0], path)
    assert xml.dumps(load_machine(path).topology) == xml.dumps(load_machine().topology)


def test_saving_twice_gives_the_same_bytes(tmp_path):
    capture = load(fixture())
    for name in ("a", "b"):
        save(capture, str(tmp_path / name))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def fixture() -> str:
    from railgauge.topo.machine import fixture_path

    return fixture_path("h200x4")


def test_an_unknown_fixture_lists_those_there_are():
    with pytest.raises(InputError, match="@h200x4"):
        load_machine("@nope")


def archive(path, members, manifest=True):
    with tarfile.open(path, "w:gz") as tar:
        if manifest:
            members = [("manifest.json", f'{{"schema": "{SCHEMA}"}}'.encode()), *members]
        for name, content in members:
            member = tarfile.TarInfo(name) if isinstance(name, str) else name
            if isinstance(content, bytes):
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            else:
                tar.addfile(member)
    return str(path)


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


@pytest.mark.parametrize(
    ("members", "manifest"),
    [
        ([("../evil", b"x")], True),
        ([("/etc/passwd", b"x")], True),
        ([(special("root/dev", tarfile.CHRTYPE), None)], True),
        ([(special("root/hard", tarfile.LNKTYPE, "manifest.json"), None)], True),
        ([], False),
        ([("manifest.json", b"{")], False),
        ([("manifest.json", b'{"schema": "other/1"}')], False),
        ([("facts/nvml.json", b"[1]")], True),
        ([("facts/nvml.json", b'{"gpus": [{"index": 0, "pci": "0:0:0.0", "cc": "ab"}]}')], True),
        ([("facts/nvml.json", b'{"gpus": [{"index": 0, "cc": [9]}]}')], True),
        ([("facts/nvml.json", b'{"gpus": [{"pci": "0:0:0.0", "cc": [9, 0]}]}')], True),
        ([("facts/nvml.json", b'{"gpus": [{"index": 0, "links": 3}]}')], True),
        ([("facts/cuda.json", b'{"gpu_direct_rdma": [1]}')], True),
        ([("facts/interfaces.json", b'{"interfaces": [{"addresses": ["192.0.2.1"]}]}')], True),
        ([("facts/interfaces.json", b'{"interfaces": [{"name": "a", "flags": "0x43"}]}')], True),
        ([("facts/affinity.json", b'{"cpus": ["1"]}')], True),
        ([("manifest.json", f'{{"schema": "{SCHEMA}", "problems": [1]}}'.encode())], False),
    ],
)
def test_hostile_archives_are_refused(tmp_path, members, manifest):
    with pytest.raises(InputError):
        load(archive(tmp_path / "c.tar.gz", members, manifest))


def test_a_gzip_bomb_is_refused_early(tmp_path):
    path = tmp_path / "c.tar.gz"
    header = tarfile.TarInfo("root/big")
    header.size = 1 << 40
    path.write_bytes(gzip.compress(header.tobuf()))
    with pytest.raises(InputError, match="MiB"):
        load(str(path))


def test_a_cut_archive_is_refused(tmp_path):
    with open(fixture(), "rb") as file:
        data = file.read()
    for length in (3, 100, len(data) // 2, len(data) - 20):
        (tmp_path / "c.tar.gz").write_bytes(data[:length])
        with pytest.raises(InputError):
            load(str(tmp_path / "c.tar.gz"))


def test_links_in_a_capture_stay_in_it(tmp_path):
    path = archive(tmp_path / "c.tar.gz", [(special("root/a", tarfile.SYMTYPE, "../../../../etc/hostname"), None)])
    reader = CaptureReader(load(path))
    assert reader.text("/a") is None


def test_settings_of_the_environment_leave_a_recording_alone(monkeypatch):
    plain = dumps(untimed(record()[0]))
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "nothing-of-this-name")
    monkeypatch.setenv("NCCL_HOSTID", "other")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert dumps(untimed(record()[0])) == plain


def untimed(capture: Capture) -> Capture:
    return replace(capture, manifest={**capture.manifest, "time": ""})


def test_a_recording_holds_the_interfaces_that_nccl_would_not_choose(tmp_path, monkeypatch):
    made = SyntheticMachine(tmp_path)
    made.nic("docker0")
    made.nic("eth0")
    monkeypatch.setattr(machine, "live_reader", lambda root: made.reader())
    recorded, warnings = record()
    assert "/sys/devices/virtual/net/docker0/speed" in recorded.texts
    assert any("no NUMA node" in warning for warning in warnings)


def test_hex_that_is_none_is_an_input_error(tmp_path):
    path = archive(tmp_path / "c.tar.gz", [("root/sys/class/net/eth0/flags", b"0xzz")])
    with pytest.raises(InputError, match="flags"):
        load_machine(path)


def test_numbers_that_are_none_are_unknown(tmp_path):
    made = SyntheticMachine(tmp_path)
    device = made.pci("0000:00:01.0", "0000:01:00.0", kind=NIC_CLASS, vendor="0x15b3")
    made.nic("eth0", "0000:00:01.0", "0000:01:00.0")
    for path in (f"{device}/net/eth0/speed", f"{device}/max_link_width"):
        made.write(path, "\u00b2" if path.endswith("speed") else "9" * 5000)
    found = {e.name: e for e in scan(made.reader(), {}).topology.root.walk()}
    assert (found["net"].get("speed"), found["pci"].get("link_width")) == ("10000", "0")
