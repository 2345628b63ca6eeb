# SPDX-License-Identifier: Apache-2.0
"""Interfaces as text, and texts that are read in other forms alone."""

from collections import Counter

import pytest
from tests.topo.facts.pasted import texts
from tests.topo.facts.pasted.test_read import facts, machine

from railgauge.topo.errors import InputError
from railgauge.topo.files.pasted_text import plain_text
from railgauge.topo.findings.node.rules import RULES, check
from railgauge.topo.render.header import machine_header


@pytest.mark.parametrize("tool", ["ip addr", "ifconfig"])
def test_interfaces_as_text_are_those_of_json(tool):
    found = {one["name"]: one for one in facts(texts.ALL[tool]).reader.facts("interfaces")["interfaces"]}
    ens3 = found["ens3"]
    assert (ens3["prefix"], ens3["addresses"]) == (24, ["10.0.0.5", "fe80::81b:2cff:fe3d:4e5f"])
    assert ens3["flags"] & 0x41 == 0x41
    assert tool == "ifconfig" or (ens3["index"], found["eth0"]["flags"] & 0x1) == (2, 0)


def test_an_interface_after_whose_first_line_the_text_breaks_off_is_left_out():
    """What `ip` says of its addresses is not there; it has not none."""
    head = "9: ib9: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 2044 qdisc mq state UP group default qlen 256\n"
    cut = machine(texts.ALL["ip addr"] + head)
    assert "ib9" not in {
        one["name"] for one in facts(texts.ALL["ip addr"] + head).reader.facts("interfaces")["interfaces"]
    }
    assert any("ip addr breaks off after the first line of ib9" in one for one in cut.warnings)
    whole = facts(f"{texts.ALL['ip addr']}{head}    link/none\n").reader.facts("interfaces")["interfaces"]
    assert "ib9" in {one["name"] for one in whole}


def test_text_of_lstopo_is_refused_with_what_to_give():
    with pytest.raises(InputError, match=r"lstopo topo\.xml"):
        facts("  PCIBridge L#6 (busid=0000:3c:04.0 id=10b5:9797)\n    PCI L#3 (busid=0000:3f:00.0)\n")


def test_a_gpu_of_an_unknown_model_is_a_gpu():
    old = "01:00.0 VGA compatible controller: nVidia Corporation G92 [GeForce 8800 GT] (rev a2)\n"
    assert "1 x nVidia Corporation G92" in machine_header(machine(old), "x")


def test_a_gpu_that_fell_off_the_bus_as_new_drivers_say_it():
    lines = "NVRM: The NVIDIA GPU 0000:b3:00.0", "NVRM: (PCI ID: 10de:26b5) installed in this system has"
    log = "".join(f"[ 1843.3] {line}\n" for line in (*lines, "NVRM: fallen off the bus and is not responding."))
    (found,) = [one for one in check(machine(log), RULES) if one.level == "FAIL"]
    assert (found.id, found.subject) == ("gpu-xid", "0000:b3:00.0")


def test_a_part_of_nvidia_smi_q_is_of_one_gpu():
    part = "    Clocks Event Reasons\n        Idle : Not Active\n        HW Slowdown : Active\n"
    found = [one for one in check(machine(part), RULES) if one.level in ("FAIL", "WARN")]
    assert [one.id for one in found] == ["gpu-throttled"]


def test_a_name_that_the_table_cut_off_tells_the_capability():
    row = "|   0  Tesla V100S-PCI...  On   | 00000000:1B:00.0 Off |                    0 |\n"
    (gpu,) = facts(f"{row}| N/A   30C    P0    26W / 250W |      0MiB / 32510MiB |      0%      Default |\n").gpus
    assert (gpu.sm, gpu.name) == (70, None)


def test_an_interface_that_is_no_ipoib_tells_the_state_of_its_port():
    text = "mlx5_3 port 1 ==> net1 (Down)\nmlx5_4 port 1 ==> ib1 (Up)\nmlx5_5 port 1 ==> ib2 (Down)\n"
    states = [device.ports[0].state for device in facts(text).rdma]
    assert states == ["DOWN", "ACTIVE", None]


def test_a_port_with_a_lid_is_of_infiniband():
    text = (
        '<topology version="3.0"><object type="PCIDev" pci_busid="0000:82:00.0" pci_type="0280 [15b3:1003]">'
        '<object type="OSDev" name="mlx4_0"><info name="NodeGUID" value="0002:c903:00f9:bfa0"/>'
        '<info name="Port1State" value="4"/><info name="Port1LID" value="0x3a4"/></object></object></topology>'
    )
    assert facts(text).rdma[0].ports[0].link_layer == "InfiniBand"


@pytest.mark.parametrize(("version", "kind"), [("2.0", "3"), ("3.0", "48")])
def test_hwloc_names_rdma_devices_without_a_guid(version, kind):
    text = (
        f'<topology version="{version}"><object type="PCIDev" pci_busid="0000:4f:00.0" pci_type="0200 [1d0f:efa3]">'
        f'<object type="OSDev" name="rdmap79s0" osdev_type="{kind}"/>'
        '<object type="OSDev" name="eth0" osdev_type="2"/></object></topology>'
    )
    assert [device.name for device in facts(text).rdma] == ["rdmap79s0"]


def test_a_table_with_short_bus_ids():
    row = "|   0  NVIDIA H100 80GB HBM3          On  | 0:53:00.0 Off |                           0 |\n"
    (gpu,) = facts(f"{row}| N/A   37C    P0  112W / 700W |  46103MiB / 81559MiB |    100%      Default |\n").gpus
    assert gpu.bus_id == "0000:53:00.0"


def test_remarks_behind_lines_are_not_of_the_text():
    pasted = (
        "State: Down   # <-- why?\nRate: 10 <== low\n   #  in group\nLnkCap: L1 <1us, <MAbort-\nmlx5_0 ==> net1 (Up)\n"
    )
    plain = "State: Down\nRate: 10\n   #  in group\nLnkCap: L1 <1us, <MAbort-\nmlx5_0 ==> net1 (Up)\n"
    assert plain_text(pasted.encode()) == plain


def test_rows_to_be_remapped_without_the_line_of_failures():
    part = "    Remapped Rows\n        Uncorrectable Error : 4\n        Pending : Yes\n"
    found = [one for one in check(machine(part), RULES) if one.level in ("FAIL", "WARN")]
    assert [one.id for one in found] == ["gpu-row-remap"]


def test_gpus_whose_rows_are_cut_off_are_ends_of_links():
    matrix = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\nGPU0\t X \tNV1\tNV2\tNV1\t0-3\nGPU1\tNV1\t X \tSYS\tNV1\t4-7\n"
    whole = machine(matrix)
    joined = {
        (gpu.index, peer): count
        for gpu in facts(matrix).gpus
        for peer, count in Counter(link.remote for link in gpu.links).items()
    }
    assert joined[0, "ffff:02:00.0"] == 2
    assert {link.get("tclass") for gpu in whole.topology.gpus for link in gpu.children} == {"0x030200"}
    assert any("no whole row of GPU2, GPU3" in one for one in whole.warnings)
    assert not [one for one in check(whole, RULES) if one.level in ("FAIL", "WARN")]
