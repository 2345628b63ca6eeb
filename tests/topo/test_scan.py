# SPDX-License-Identifier: Apache-2.0
"""Scans of synthetic machines: NCCL's order and readings, partial answers with reasons, live limits."""

import pytest

from railgauge.fixtures.synthetic import NIC_CLASS, SyntheticMachine
from railgauge.topo import xml
from railgauge.topo.errors import UsageError
from railgauge.topo.machine import load_machine
from railgauge.topo.scan import scan
from railgauge.topo.sources.reader import LiveReader
from railgauge.topo.sources.sysfs_numa import cpu_identity, cpuid_family
from railgauge.topo.system import build_system

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
    path = machine.pci("0000:00:01.0", "0000:01:00.0", kind=NIC_CLASS, vendor="0x15b3", width="8")
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
    assert xml.loads(xml.dumps(result.topology)).cpus
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
    assert xml.dumps(xml.loads(xml.dumps(machine.topology))) == xml.dumps(machine.topology)


@pytest.mark.parametrize(("family", "want"), [(6, 6), (23, 143), (25, 175), (26, 191)])
def test_families_are_cpuid_fields(family, want):
    assert cpuid_family(family) == want


def test_other_architectures():
    assert cpu_identity("processor\t: 0\nCPU implementer\t: 0x41\n") == (("arch", "arm64"),)
    assert cpu_identity("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n") == (("arch", "ppc64"),)
    assert cpu_identity("") == ()
