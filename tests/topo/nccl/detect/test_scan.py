# SPDX-License-Identifier: Apache-2.0
"""Scans of synthetic machines: NCCL's order and readings, partial answers with reasons, live limits."""

import pytest

from railgauge.fixtures.synthetic import NIC_CLASS, SyntheticMachine
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.facts import live_reader as live
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources import nvml
from railgauge.topo.facts.sources.host_identity import nccl_hash
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.values import cpuset
from railgauge.topo.xml import topology_file

UP, DOWN = "0000:01:00.0", "0000:02:00.0"  # a switch: upstream and downstream port


@pytest.fixture
def machine(tmp_path):
    made = SyntheticMachine(tmp_path)
    made.numa(0, "0-15", "0000ffff")
    made.numa(1, "16-31", "ffff0000")
    return made


def tags(topology):
    return [e.get("busid") or e.get("name") or e.name for e in topology.root.walk()]


def test_first_gpu_then_nics_then_later_gpus(machine):
    machine.gpu("0000:00:01.0", UP, DOWN, "0000:03:00.0")
    machine.gpu("0000:00:01.0", UP, "0000:02:01.0", "0000:04:00.0")
    machine.nic("eth0", "0000:00:01.0", UP, "0000:02:02.0", "0000:05:00.0")
    topology = scan(machine.reader(), {}).topology
    assert tags(topology) == [
        *("system", "cpu", UP, "0000:03:00.0", "gpu", "0000:05:00.0", "nic", "eth0", "0000:04:00.0", "gpu")
    ]


def test_a_switch_is_named_by_its_upstream_port(machine):
    machine.gpu("0000:00:01.0", UP, DOWN, "0000:03:00.0")
    assert build_system(scan(machine.reader(), {}).topology).kind("PCI")[0].id == "PCI/0-1000"


def test_a_root_port_is_no_switch(machine):
    machine.gpu("0000:00:01.0", "0000:01:00.0")
    assert tags(scan(machine.reader(), {}).topology)[:3] == ["system", "cpu", "0000:01:00.0"]


def test_speed_and_width_are_the_lesser_of_device_and_port(machine):
    path = machine.pci("0000:00:01.0", "0000:01:00.0", kind=NIC_CLASS, vendor="0x15b3", width=8)
    machine.nic("eth0", "0000:00:01.0", "0000:01:00.0")
    machine.write(f"{path}/max_link_width", "8\n")
    machine.write(f"{path}/../max_link_speed", "8.0 GT/s PCIe\n")
    device = next(e for e in scan(machine.reader(), {}).topology.root.walk() if e.get("busid") == "0000:01:00.0")
    assert (device.get("link_speed"), device.get("link_width")) == ("8.0 GT/s PCIe", "8")


def test_gpus_land_on_their_numa_node(machine):
    machine.gpu("0000:00:01.0", "0000:01:00.0", numa=0)
    machine.gpu("0000:80:01.0", "0000:81:00.0", numa=1)
    topology = scan(machine.reader(), {}).topology
    assert [(cpu.get("numaid"), cpu.get("affinity")) for cpu in topology.cpus] == [("0", "0000ffff"), ("1", "ffff0000")]


def test_an_nvlink_peer_in_sysfs_gives_its_class_and_another_is_a_switch(machine):
    machine.gpu("0000:00:01.0", "0000:01:00.0", links=("00000000:81:00.0", "00000000:C1:00.0"))
    machine.gpu("0000:80:01.0", "0000:81:00.0", numa=1)
    links = [e for e in scan(machine.reader(), {}).topology.root.walk() if e.name == "nvlink"]
    assert [link.get("tclass") for link in links] == ["0x030200", "0x068000"]


def test_a_gpu_that_nvml_does_not_list_is_named(machine):
    machine.gpu("0000:00:01.0", "0000:01:00.0")
    machine.gpus.clear()
    result = scan(machine.reader(), {})
    assert any("0000:01:00.0" in warning and "NVML" in warning for warning in result.warnings)


def test_gpus_in_slices_are_named(machine):
    machine.gpu("0000:00:01.0", "0000:01:00.0")
    machine.gpu("0000:00:02.0", "0000:02:00.0")
    machine.gpus[1]["mig"] = 1
    assert [warning for warning in scan(machine.reader(), {}).warnings if "MIG" in warning] == [
        "MIG is on: GPU1: MIG instances have no peer access and are shown as their whole GPU"
    ]


def test_a_gpu_that_sysfs_does_not_know_hangs_on_an_unknown_cpu(machine):
    machine.gpus.append({"index": 0, "pci": "00000000:77:00.0", "cc": [8, 0], "links": [], "c2c": []})
    result = scan(machine.reader(), {})
    assert result.topology.cpus[0].get("numaid") == "-1"
    assert any("0000:77:00.0" in warning for warning in result.warnings)
    build_system(result.topology)


def test_a_virtual_nic_hangs_bare_on_the_first_cpu(machine):
    machine.nic("bond0", speed=-1)
    result = scan(machine.reader(), {})
    nic = result.topology.cpus[0].children[0]
    assert (nic.name, nic.attributes, nic.children[0].get("speed")) == ("nic", (), "10000")


def test_a_host_without_gpus_shows_all_its_numa_nodes(machine):
    machine.nic("eth0", "0000:80:01.0", "0000:81:00.0", numa=1)
    result = scan(machine.reader(), {})
    assert [cpu.get("numaid") for cpu in result.topology.cpus] == ["0", "1"]
    assert any("no GPU" in warning for warning in result.warnings)


def test_an_empty_root_is_still_a_machine(tmp_path):
    result = scan(LiveReader(str(tmp_path)), {})
    assert topology_file.loads(topology_file.dumps(result.topology)).cpus
    assert len(build_system(result.topology, host_ranks=2).ranks) == 2
    assert len(result.warnings) >= 3


def test_links_never_lead_out_of_the_root(tmp_path):
    (tmp_path / "sys").symlink_to("/etc")
    (tmp_path / "loop").symlink_to("loop")
    reader = LiveReader(str(tmp_path))
    assert reader.text("/sys/hostname") is None
    assert reader.text("/../../etc/passwd") is None
    assert reader.text("/loop") is None


def test_socket_settings_choose_the_nic(machine):
    for name in ("eth0", "eth1"):
        machine.nic(name)
    nets = [e for e in scan(machine.reader(), {"NCCL_SOCKET_IFNAME": "=eth1"}).topology.root.walk() if e.name == "net"]
    assert [net.get("name") for net in nets] == ["eth1"]


def test_visible_devices_limit_and_order_the_gpus(machine):
    for i in range(3):
        machine.gpu(f"0000:00:0{i + 1}.0", f"0000:0{i + 1}:00.0")
    reader = machine.reader()
    assert devs(scan(reader, {"CUDA_VISIBLE_DEVICES": "2,0"})) == ["2", "0"]
    assert devs(scan(reader, {"CUDA_VISIBLE_DEVICES": "GPU-1,9,0"})) == ["1"]
    assert devs(scan(reader, {"CUDA_VISIBLE_DEVICES": "2"}, gpus=(1,))) == ["1"]
    assert devs(scan(reader, {"CUDA_VISIBLE_DEVICES": ""})) == []
    with pytest.raises(UsageError, match="no GPU 7"):
        scan(reader, {}, gpus=(7,))


def devs(result):
    return [gpu.get("dev") for gpu in sorted(result.topology.gpus, key=lambda gpu: int(gpu.get("rank") or 0))]


def test_host_hash_is_stable_and_follows_hostid(machine):
    def hash_of(**environment: str):
        return scan(machine.reader(), environment).topology.cpus[0].get("host_hash")

    assert hash_of() == hash_of()
    assert hash_of(NCCL_HOSTID="a") != hash_of()
    assert int(hash_of(), 16) < 1 << 64


def test_live_machine_is_described():
    machine = load_machine()
    assert machine.topology.cpus
    assert topology_file.dumps(topology_file.loads(topology_file.dumps(machine.topology))) == topology_file.dumps(
        machine.topology
    )


def test_gpus_of_an_nvml_that_does_not_answer_are_unavailable(machine):
    reader = LiveReader(str(machine.root), {"nvml": lambda: {"error": "NVML did not answer within 20 s"}})
    with pytest.raises(UnavailableError, match="did not answer"):
        scan(reader, {}, gpus=(0,))


def without_nvml(machine, **facts):
    machine.gpu("0000:00:01.0", "0000:01:00.0")
    machine.gpu("0000:00:02.0", "0000:02:00.0")
    return scan(
        LiveReader(str(machine.root), {name: lambda answer=a: answer for name, a in facts.items()}), {}
    ).warnings


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"nvml": {"error": "Driver/library version mismatch"}}, "Driver/library version mismatch"),
        ({}, "NVML was not queried"),
        ({"nvml": {"gpus": []}}, "not listed by NVML"),
    ],
)
def test_gpus_without_nvml_are_named_in_one_line_with_its_reason(machine, facts, why):
    warnings = without_nvml(machine, **facts)
    assert [line for line in warnings if why in line] == [f"GPU 0000:01:00.0, 0000:02:00.0 left out: {why}"]
    assert "no GPU takes part: describing the machine for host ranks" in warnings


def test_a_gpu_that_cuda_does_not_list_is_not_blamed_on_nvml(machine):
    cuda = {"gpus": [{"pci": "00000000:01:00.0", "cc": [8, 0]}]}
    warnings = without_nvml(machine, nvml={"error": "version mismatch"}, cuda=cuda)
    assert "GPU 0000:02:00.0 left out: not listed by CUDA" in warnings
    assert "version mismatch" in warnings


def test_no_gpu_is_only_said_to_be_found_where_that_is_known(machine):
    assert any("no GPU found" in line for line in scan(machine.reader(), {}).warnings)


def test_a_host_without_name_and_boot_id_has_no_hash(machine):
    for path in ("hostname", "random/boot_id"):
        (machine.root / "proc/sys/kernel" / path).unlink(missing_ok=True)
    result = scan(machine.reader(), {})
    assert [cpu.get("host_hash") for cpu in result.topology.cpus] == [None] * len(result.topology.cpus)
    assert any(line.startswith("host_hash omitted") for line in result.warnings)
    assert build_system(result.topology, host_ranks=2).ranks
    assert scan(machine.reader(), {"NCCL_HOSTID": "a"}).topology.cpus[0].get("host_hash")


def test_a_mig_device_is_told_not_to_be_modelled(machine):
    machine.gpu("0000:00:01.0", "0000:01:00.0")
    warnings = scan(machine.reader(), {"CUDA_VISIBLE_DEVICES": "MIG-1"}).warnings
    assert any("MIG is not modelled" in warning for warning in warnings)


def test_a_speed_that_cannot_be_read_is_told(machine):
    machine.nic("eth0", speed=-1)
    assert "eth0: speed unknown, assumed 10 Gb/s" in scan(machine.reader(), {}).warnings


def test_cpuinfo_is_read_once(machine):
    for i in range(4):
        machine.gpu(f"0000:00:0{i + 1}.0", f"0000:0{i + 1}:00.0", numa=i % 2)
    reader = machine.reader()
    paths, text = [], reader.text
    reader.text = lambda path: paths.append(path) or text(path)
    scan(reader, {})
    assert paths.count("/proc/cpuinfo") == 1


def limited(machine, *cpus: int) -> LiveReader:
    return LiveReader(str(machine.root), {"affinity": lambda: {"cpus": list(cpus)}})


def test_host_ranks_sit_on_allowed_cores(machine):
    result = scan(limited(machine, 2, 3, 16, 17), {})
    system = build_system(result.topology, host_ranks=4)
    assert [node.cpus for node in system.ranks] == [(2,), (3,), (16,), (17,)]
    assert "NUMA1: host ranks may use 2 of 16 cores (16-17)" in result.warnings


def test_a_numa_node_without_allowed_cores_seats_nobody(machine):
    system = build_system(scan(limited(machine, 16, 17), {}).topology, host_ranks=3)
    assert {node.numa for node in system.ranks} == {1}


def test_all_cores_allowed_is_no_remark(machine):
    assert not any("cores may be used" in warning for warning in scan(limited(machine, *range(32)), {}).warnings)


@pytest.mark.parametrize("device", ["/dev/nvidiactl", "/dev/dxg"])
def test_nvml_is_asked_where_sysfs_lacks_the_gpus(monkeypatch, device):
    monkeypatch.setattr(live, "gpu_bus_ids", lambda reader: ())
    monkeypatch.setattr(live.os.path, "exists", lambda path: path == device)
    monkeypatch.setattr(nvml, "live_nvml", lambda: {"error": "asked"})
    assert live.live_reader().facts("nvml") == {"error": "asked"}


def test_the_host_hash_is_nccls():
    assert nccl_hash(b"vm40226e65-985b-4b78-a920-671ca025ed72") == 0xFDBF725BB546E0C3  # as NCCL 2.28.9 dumped it


def test_a_mask_longer_than_nccl_holds_loses_its_empty_words(machine):
    machine.numa(0, "0-31", "00000000," * 40 + "ffffffff")
    machine.gpu("0000:00:01.0", "0000:01:00.0")
    mask = scan(machine.reader(), {}).topology.cpus[0].get("affinity")
    assert len(mask) <= 253
    assert cpuset.from_mask(mask) == tuple(range(32))


def test_a_mask_that_cannot_be_shortened_is_left_out(machine):
    machine.numa(0, "0-31", "ffffffff," * 40 + "ffffffff")
    machine.gpu("0000:00:01.0", "0000:01:00.0")
    assert scan(machine.reader(), {}).topology.cpus[0].get("affinity") is None
