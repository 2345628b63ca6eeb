# SPDX-License-Identifier: Apache-2.0
"""Captures: what replays is what was read; hostile archives are refused."""

import gzip
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from railgauge.fixtures.synthetic import NIC_CLASS, SyntheticMachine
from railgauge.topo.errors import InputError
from railgauge.topo.facts import named_source
from railgauge.topo.facts.capture import SCHEMA, Capture, CaptureReader, dumps, loads
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.recording import capture_of
from railgauge.topo.facts.shapes import MOST_PATHS, misfit
from railgauge.topo.files.compression import WRITERS
from railgauge.topo.machine import load_machine, record
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.xml import topology_file


def save(capture: Capture, path: str) -> None:
    Path(path).write_bytes(dumps(capture))


def load(path: str) -> Capture:
    return loads(Path(path).read_bytes(), path)


def test_a_synthetic_machine_replays(tmp_path):
    made = SyntheticMachine(tmp_path / "root")
    made.numa(0, "0-3", "f")
    made.gpu("0000:00:01.0", "0000:01:00.0", "0000:02:00.0", "0000:03:00.0", links=("FFFFFFFF:FF:FF.0",))
    made.nic("eth0", "0000:00:01.0", "0000:01:00.0", "0000:02:01.0", "0000:04:00.0")
    reader = made.reader()
    live = scan(reader, {})
    save(capture_of(reader, "synthetic"), str(tmp_path / "c.tar.gz"))
    replayed = scan(CaptureReader(load(str(tmp_path / "c.tar.gz"))), {})
    assert topology_file.dumps(replayed.topology) == topology_file.dumps(live.topology)
    assert (replayed.warnings, replayed.topology.numa) == (live.warnings, live.topology.numa)


def test_a_folder_that_was_empty_replays_empty(tmp_path):
    (tmp_path / "sys/class/infiniband").mkdir(parents=True)
    reader = LiveReader(str(tmp_path))
    assert reader.entries("/sys/class/infiniband") == ()
    save(capture_of(reader, "x"), str(tmp_path / "c.tar.gz"))
    replayed = CaptureReader(load(str(tmp_path / "c.tar.gz")))
    assert replayed.entries("/sys/class/infiniband") == ()
    assert replayed.realpath("/sys/class/infiniband") == "/sys/class/infiniband"


def test_control_characters_are_marked_wherever_they_stand():
    capture = Capture(
        manifest={"problems": {"/sys/\x1b": "\x1bno"}},
        texts={"/sys/class/net/e\x1b/state": "u\x00p\n"},
        links={"/sys/x\x1b": "/sys/class/net/e\x1b"},
        facts={"nvml": {"gpus": [{"\x1bname": "\x9bH200"}]}},
    )
    reader = CaptureReader(capture)
    assert reader.entries("/sys/class/net") == ("e\ufffd",)
    assert reader.text("/sys/x\ufffd/state") == "u\ufffdp"
    assert reader.facts("nvml") == {"gpus": [{"\ufffdname": "\ufffdH200"}]}
    assert reader.text("/sys/\ufffd") is None
    assert reader.problems == {"/sys/\ufffd": "\ufffdno"}


def test_the_live_machine_replays(tmp_path, monkeypatch):
    for name in ("NCCL_HOSTID", "NCCL_SOCKET_IFNAME", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    path = str(tmp_path / "live.tar.gz")
    save(record()[0], path)
    assert topology_file.dumps(load_machine(path).topology) == topology_file.dumps(load_machine().topology)


def test_saving_twice_gives_the_same_bytes(tmp_path):
    capture = load(fixture())
    for name in ("a", "b"):
        save(capture, str(tmp_path / name))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def fixture() -> str:
    from railgauge.topo.facts.named_source import fixture_path

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
        ([("facts/affinity.json", b'{"cpus": [' + b"1," * 9000 + b"1]}")], True),
        ([("manifest.json", f'{{"schema": "{SCHEMA}", "problems": [1]}}'.encode())], False),
    ],
)
def test_hostile_archives_are_refused(tmp_path, members, manifest):
    with pytest.raises(InputError):
        load(archive(tmp_path / "c.tar.gz", members, manifest))


def test_a_member_that_tells_more_than_there_is_is_refused_early(tmp_path):
    path = tmp_path / "c.tar.gz"
    header = tarfile.TarInfo("root/big")
    header.size = 1 << 32
    path.write_bytes(gzip.compress(header.tobuf()))
    with pytest.raises(InputError, match="damaged"):
        load(str(path))


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_written_format_reads_the_same(suffix):
    capture = load(fixture())
    assert loads(dumps(capture, suffix), "x") == capture


def test_a_listing_replays_though_nothing_in_it_was_read(tmp_path):
    for name in ("mlx5_0", "mlx5_1"):
        (tmp_path / "sys/class/infiniband" / name).mkdir(parents=True)
    reader = LiveReader(str(tmp_path))
    names = reader.entries("/sys/class/infiniband")
    assert reader.realpath("/sys/class/infiniband/mlx5_1") is not None
    replayed = CaptureReader(loads(dumps(capture_of(reader, "x")), "x"))
    assert replayed.entries("/sys/class/infiniband") == names == ("mlx5_0", "mlx5_1")
    assert replayed.entries("/sys/class/infiniband/mlx5_1") == ()


def test_a_problem_is_met_again_where_it_was_met(tmp_path):
    (tmp_path / "a").write_text("x")
    reader = LiveReader(str(tmp_path))
    reader.problems["/a"] = "Input/output error"
    replayed = CaptureReader(loads(dumps(capture_of(reader, "x")), "x"))
    assert replayed.problems == {}
    assert replayed.text("/a") is None
    assert replayed.problems == {"/a": "Input/output error"}


def test_json_that_is_too_deep_or_too_long_is_refused(tmp_path):
    for text in (b"[" * 100_000, b'{"a": ' * 50_000, b'{"gpus": ' + b"1" * 10_000 + b"}", b" " * (5 << 20)):
        with pytest.raises(InputError, match=r"nvml\.json"):
            load(archive(tmp_path / "c.tar.gz", [("facts/nvml.json", text)]))


def test_json_that_is_too_deep_is_called_so(tmp_path):
    with pytest.raises(InputError, match=r"nvml\.json is not JSON that can be read: it is nested too deeply$"):
        load(archive(tmp_path / "c.tar.gz", [("facts/nvml.json", b"[" * 100_000)]))


def test_a_cut_archive_is_refused(tmp_path):
    with open(fixture(), "rb") as file:
        data = file.read()
    for length in (3, 100, len(data) // 2, len(data) - 20):
        (tmp_path / "c.tar.gz").write_bytes(data[:length])
        with pytest.raises(InputError):
            load(str(tmp_path / "c.tar.gz"))


def test_a_capture_of_nothing_is_refused():
    with pytest.raises(InputError, match="holds nothing of a machine"):
        loads(dumps(Capture(manifest={"schema": SCHEMA, "absent": ["/sys"]})), "a.tar.gz")


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
    """Without the time, and without the settings, which are recorded as they are and applied to nothing."""
    facts = {name: facts for name, facts in capture.facts.items() if name != "settings"}
    return replace(capture, manifest={**capture.manifest, "time": ""}, facts=facts)


def test_a_recording_holds_the_interfaces_that_nccl_would_not_choose(tmp_path, monkeypatch):
    made = SyntheticMachine(tmp_path)
    made.nic("docker0")
    made.nic("eth0")
    monkeypatch.setattr(named_source, "live_reader", lambda root: made.reader())
    recorded, warnings = record()
    assert "/sys/devices/virtual/net/docker0/speed" in recorded.texts
    assert any("no NUMA node" in warning for warning in warnings)


def test_numbers_that_are_none_are_unknown(tmp_path):
    made = SyntheticMachine(tmp_path)
    device = made.pci("0000:00:01.0", "0000:01:00.0", kind=NIC_CLASS, vendor="0x15b3")
    made.nic("eth0", "0000:00:01.0", "0000:01:00.0")
    for path in (f"{device}/net/eth0/speed", f"{device}/max_link_width"):
        made.write(path, "\u00b2" if path.endswith("speed") else "9" * 5000)
    found = {e.name: e for e in scan(made.reader(), {}).topology.root.walk()}
    assert (found["net"].get("speed"), found["pci"].get("link_width")) == ("10000", "0")


def test_a_small_capture_cannot_list_millions_of_cores():
    texts = {f"/sys/devices/system/node/node{i}/cpulist": "0-65535" for i in range(50_000)}
    with pytest.raises(InputError, match="more than 65536 cores"):
        scan(CaptureReader(Capture(manifest={}, texts=texts)), {})
    repeated = {"/sys/devices/system/node/node0/cpulist": ",".join(["0-65535"] * 50_000)}
    assert scan(CaptureReader(Capture(manifest={}, texts=repeated)), {}).topology.numa == ()


def test_as_many_paths_may_be_absent_as_an_archive_may_name():
    assert misfit({"absent": ["/a"] * MOST_PATHS}, "manifest.json") is None
    assert "at most" in misfit({"absent": ["/a"] * (MOST_PATHS + 1)}, "manifest.json")
