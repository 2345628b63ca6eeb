# SPDX-License-Identifier: Apache-2.0
"""`topo dump` in a guest tells the machine that the guest was built to be."""

import xml.etree.ElementTree as ET

import pytest
from tests.vm.boards import NODE_NIC, gpus, nv_switches
from tests.vm.lab.guest import CPU
from tests.vm.xml_tree import built, told

pytestmark = pytest.mark.vm
ON_ROOT = "0000:00:10.0"
FIRST_CPUS = {"cpu 0", "cpu 1"}  # a rank's tree starts with the CPU of its GPU; fused, both hold the virtual NICs


def test_gpus_and_switches_are_where_they_were_built(node):
    assert told(node.out("dump")) == built(node.board, *gpus(node.board))


def test_nics_of_the_socket_transport_are_where_they_were_built(node):
    assert told(node.out("sockets")) == built(node.board, *gpus(node.board), NODE_NIC, ON_ROOT)


def test_cpus_are_those_of_the_emulator(node):
    cpus = ET.fromstring(node.out("dump")).findall("cpu")
    assert [(cpu.get("numaid"), cpu.get("affinity")) for cpu in cpus] == [("0", "1"), ("1", "2")]
    for cpu in cpus:
        assert (cpu.get("arch"), cpu.get("vendor")) == ("x86_64", CPU["vendor"])
        assert (cpu.get("familyid"), cpu.get("modelid")) == (str(CPU["family"]), str(CPU["model"]))


def test_gpus_are_in_the_order_of_nvml_with_nvlinks_to_the_switch(node):
    found = ET.fromstring(node.out("dump")).findall(".//pci[gpu]")
    assert {pci.get("busid"): pci.find("gpu").get("dev") for pci in found} == {
        bus_id: str(index) for index, bus_id in enumerate(gpus(node.board))
    }
    for pci in found:
        links = [(link.get("target"), link.get("count"), link.get("tclass")) for link in pci.iter("nvlink")]
        assert links == [(*nv_switches(node.board), "4", "0x068000")]


def test_soft_roce_devices_hang_bare_on_the_first_cpu_of_each_rank_as_in_nccl(node):
    assert nets_of(node, "dump") == {f"rxe{rail}": FIRST_CPUS for rail in range(4)}


def test_virtio_nics_hang_on_first_cpus_and_others_on_their_pci_device(node):
    placed = {"rail1": {NODE_NIC}, "rail3": {ON_ROOT}}
    assert nets_of(node, "sockets") == {"rail0": FIRST_CPUS, "rail2": FIRST_CPUS, **placed}


def nets_of(node, name):
    """The <net>s by name, each with all that its <nic>s hang on."""
    root, found = ET.fromstring(node.out(name)), {}
    holders = [(f"cpu {cpu.get('numaid')}", cpu) for cpu in root.iter("cpu")]
    holders += [(pci.get("busid"), pci) for pci in root.iter("pci")]
    for where, holder in holders:
        for net in holder.findall("nic/net"):
            found.setdefault(net.get("name"), set()).add(where)
    return found


@pytest.mark.parametrize(("rail", "mbps"), [(0, "100000"), (1, "2500"), (2, "100000"), (3, "2500")])
def test_soft_roce_is_as_fast_as_its_port_says(node, rail, mbps):
    net = ET.fromstring(node.out("dump")).find(f".//net[@name='rxe{rail}']")
    assert (net.get("speed"), net.get("port"), net.get("gdr")) == (mbps, "1", "0")


def test_without_nvml_the_gpus_are_named_but_not_dumped(node):
    assert not list(ET.fromstring(node.out("no_nvml")).iter("gpu"))
    assert "NVML Shared Library Not Found" in node.err("no_nvml")
    for bus_id in gpus(node.board):
        assert node.err("no_nvml").count(bus_id) == 1
