# SPDX-License-Identifier: Apache-2.0
"""`topo show --view rdma` says what ibv_devinfo, ibstat and rdma say in the same guest; sysfs and pyverbs agree."""

import ipaddress
import json

import pytest
from tests.cli.command import railgauge
from tests.vm.lab.board import Nic, layout
from tests.vm.rdma_tools import devinfo, ibstat

from railgauge.topo.facts.sources.sysfs_infiniband import read_rdma
from railgauge.topo.machine import load_machine

pytestmark = pytest.mark.vm
STATE_NUMBERS = {"ACTIVE": 4}  # enum ibv_port_state
PHYSICAL_NUMBERS = {"LinkUp": 5}  # IBTA 14.2.5.6, PortPhysicalState


@pytest.fixture(scope="module")
def view(node):
    return {device["name"]: device for device in json.loads(node.out("rdma"))["devices"]}


def test_every_rail_is_there_over_the_function_it_was_built_on(node, view):
    nics = {f"rxe{placed.part.rail}": placed.bus_id for placed in layout(node.board) if isinstance(placed.part, Nic)}
    assert {name: device["carrier_bus_id"] for name, device in view.items()} == nics
    assert all(device["virtual"] and device["protocol"] == "roce" for device in view.values())


def test_devices_are_those_of_ibv_devinfo(node, view):
    theirs = devinfo(node.out("ibv_devinfo"))
    assert [*view] == [*theirs]
    for name, device in view.items():
        fields = theirs[name]
        assert device["node_guid"] == fields["node_guid"]
        assert device["sys_image_guid"] == fields["sys_image_guid"]
        assert device["max_qp"] == int(fields["max_qp"])
        assert (device["vendor_id"], device["vendor_part_id"]) == (
            int(fields["vendor_id"], 16),
            int(fields["vendor_part_id"]),
        )
        assert len(device["ports"]) == int(fields["phys_port_cnt"])


def test_ports_are_those_of_ibv_devinfo(node, view):
    theirs = devinfo(node.out("ibv_devinfo"))
    for name, device in view.items():
        (port,), fields = device["ports"], theirs[name]
        assert f"PORT_{port['state']} ({STATE_NUMBERS[port['state']]})" == fields["state"]
        assert f"LINK_UP ({PHYSICAL_NUMBERS[port['physical_state']]})" == fields["phys_state"]
        assert [port["lid"], port["sm_lid"]] == [int(fields[key]) for key in ("port_lid", "sm_lid")]
        assert [port["lmc"], port["cap_mask"]] == [int(fields[key], 16) for key in ("port_lmc", "port_cap_flags")]
        assert port["link_layer"] == fields["link_layer"]
        assert port["active_mtu_bytes"] == int(fields["active_mtu"].split()[0])
        assert port["max_mtu_bytes"] == int(fields["max_mtu"].split()[0])
        assert port["gid_table_length"] == int(fields["gid_tbl_len"])
        assert f"{port['width']}X" == fields["active_width"].split()[0]


def test_gids_are_those_of_ibv_devinfo(node, view):
    theirs = devinfo(node.out("ibv_devinfo"))
    for name, device in view.items():
        gids = {key: value for key, value in theirs[name].items() if key.startswith("GID ")}
        assert {
            f"GID {gid['index']}": f"{short(gid['gid'])}, {gid['type']}" for gid in device["ports"][0]["gids"]
        } == gids


def short(gid):
    """A GID as ibv_devinfo writes it: an IPv6 address, with an IPv4 one in its last part where it holds one."""
    address = ipaddress.IPv6Address(gid)
    return f"::ffff:{address.ipv4_mapped}" if address.ipv4_mapped else str(address)


def test_ports_are_those_of_ibstat(node, view):
    theirs = ibstat(node.out("ibstat"))
    assert {*view} == {*theirs}
    for name, device in view.items():
        (port,), fields = device["ports"], theirs[name]
        assert {
            "CA type": device["hca_type"] or "",
            "Number of ports": "1",
            "Firmware version": device["firmware"] or "",
            "Hardware version": device["hw_rev"] or "",
            "Node GUID": number(device["node_guid"]),
            "System image GUID": number(device["sys_image_guid"]),
            "Port 1": "",
            "State": port["state"].capitalize(),
            "Physical state": port["physical_state"],
            "Rate": f"{port['rate_gbps']:g}",
            "Base lid": str(port["lid"]),
            "LMC": str(port["lmc"]),
            "SM lid": str(port["sm_lid"]),
            "Capability mask": f"0x{port['cap_mask']:08x}",
            "Port GUID": number(port["guid"]),
            "Link layer": port["link_layer"],
        } == fields


def number(guid):
    return "0x" + guid.replace(":", "")


def test_netdevs_are_those_of_rdma_link(node, view):
    links = {(link["ifname"], link["port"]): link["netdev"] for link in json.loads(node.out("rdma_link"))}
    assert links == {
        (name, port["number"]): port["netdev"] for name, device in view.items() for port in device["ports"]
    }


def test_pyverbs_and_sysfs_agree(node):
    reader = load_machine(str(node.folder / "node.tar.zst")).reader
    verbs = {device["name"]: device for device in json.loads(node.out("pyverbs"))["devices"]}
    devices = read_rdma(reader)
    assert [*verbs] == [device.name for device in devices]
    for device in devices:
        (theirs,), (port,) = verbs[device.name]["ports"], device.ports
        assert theirs["state"] == STATE_NUMBERS[port.state]
        assert theirs["phys_state"] == PHYSICAL_NUMBERS[port.physical_state]
        assert theirs["port_cap_flags"] == port.cap_mask
        assert theirs["gid_tbl_len"] == port.gid_table_length


def test_libibverbs_asked_directly_says_what_pyverbs_says(node):
    assert json.loads(node.out("libibverbs")) == json.loads(node.out("pyverbs"))


def test_the_table_names_every_device_and_the_gid_that_nccl_takes(node, view):
    table = railgauge("topo", "show", "--view", "rdma", "--from", str(node.folder / "node.tar.zst")).stdout
    for name, device in view.items():
        (row,) = [line for line in table.splitlines() if line.startswith(f"{name} ") and "ACTIVE" in line]
        assert device["carrier_bus_id"] in row
        assert f"NET {device['ports'][0]['nccl']['dev']}, GID 1" in row
