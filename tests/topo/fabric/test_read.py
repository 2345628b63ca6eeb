# SPDX-License-Identifier: Apache-2.0
"""Every form gives the same fabric; damaged, foreign and contradicting files give an error or what is left."""

import json
import random
from pathlib import Path

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.fabric.made_files import ibnetdiscover_text
from railgauge.topo.fabric.make import FabricPlan, make_fabric
from railgauge.topo.fabric.model import UNROUTED, End
from railgauge.topo.fabric.places import find_places
from railgauge.topo.fabric.rails import find_rails
from railgauge.topo.fabric.read import READERS, read_fabric

RECORDED = Path(__file__).parent / "recorded"
WHOLE = ("ibnetdiscover.txt", "ibnetdiscover-p.txt", "iblinkinfo.txt", "iblinkinfo-l.txt", "opensm-subnet.lst")
PLAN = FabricPlan(leaves=4, spines=2, rails=2, nodes=6)


def names(fabric):
    return {fabric.cable_name(cable) for cable in fabric.cables}


def read(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return read_fabric([str(folder)])


@pytest.mark.parametrize("name", WHOLE)
def test_each_form_has_the_cables_that_were_made(name):
    fabric = read_fabric([str(RECORDED / name)])
    assert names(fabric) == names(make_fabric(PLAN))
    assert {one.lid for one in fabric.endpoints} == {one.lid for one in read_fabric([str(RECORDED)]).endpoints}


def test_files_of_one_fabric_are_one_whatever_guids_they_name(tmp_path):
    fabric = read_fabric([str(RECORDED)])
    assert len(fabric.endpoints) == 12
    assert len(fabric.switches) == 6
    assert names(fabric) == names(make_fabric(PLAN))
    assert fabric.counters == {}
    assert fabric.managers is not None
    assert len(fabric.managers) == 1
    assert fabric.routes is not None


def test_a_forwarding_table_is_what_its_lines_say():
    fabric = read_fabric([str(RECORDED)])
    lines, key = (RECORDED / "dump_fts.txt").read_text().splitlines(), ""
    count = 0
    for line in lines:
        if line.startswith("Unicast"):
            key = line.partition("guid 0x")[2][:16]
        elif line.startswith("0x"):
            assert fabric.routes.tables[key][int(line[:6], 16)] == int(line[7:10])
            count += 1
    assert count > 90
    assert sum(int((table != UNROUTED).sum()) for table in fabric.routes.tables.values()) == count


def test_what_is_made_is_read_again(tmp_path):
    made = make_fabric(FabricPlan(leaves=6, spines=3, rails=2, nodes=20, oversubscription=2, storage=2))
    fabric = read(tmp_path, ib=ibnetdiscover_text(made))
    assert names(fabric) == names(made)
    assert {cable.rate for cable in fabric.cables} == {"4X NDR", "4X HDR"}
    assert {(one.node, one.device, one.address, one.lid) for one in fabric.endpoints} == {
        (one.node, one.device, one.address, one.lid) for one in made.endpoints
    }


def test_the_aggregation_node_of_a_switch_is_no_node(tmp_path):
    text = (RECORDED / "ibnetdiscover.txt").read_text()
    extra = (
        '[64]\t"H-b8cef60700000000"[1](b8cef60700000000)\t\t# "Mellanox Technologies Aggregation Node" lid 99 4xHDR\n'
    )
    head, line, rest = text.partition("Switch\t64")
    first, _, more = rest.partition("\n")
    fabric = read(tmp_path, ib=f"{head}{line}{first}\n{extra}{more}")
    assert len(fabric.nodes) == 6
    assert set(fabric.tier_of.values()) == {0, 1}


def test_a_cut_file_names_what_is_without_a_record(tmp_path):
    text = ibnetdiscover_text(make_fabric(PLAN))
    fabric = read(tmp_path, ib=text[: len(text) // 3])
    assert fabric.unlisted
    assert fabric.endpoints


def test_two_states_of_one_fabric_contradict_each_other(tmp_path):
    text = ibnetdiscover_text(make_fabric(PLAN))
    other = ibnetdiscover_text(make_fabric(FabricPlan(leaves=4, spines=2, rails=2, nodes=8)))
    with pytest.raises(InputError, match="give files of one fabric and time"):
        read(tmp_path, a=text, b=other)


def test_two_fabrics_without_a_common_device_are_two_networks(tmp_path):
    text = ibnetdiscover_text(make_fabric(PLAN))
    other = text.replace("b8cef6", "b8cef7").replace("mlx5_", "mlx5_1")
    fabric = read(tmp_path, a=text, b=other)
    assert len(fabric.switches) == 12


@pytest.mark.parametrize("name", WHOLE)
def test_two_fabrics_may_have_the_same_lids_and_ports(tmp_path, name):
    """Counters by LID alone are then of neither."""
    text, counted = (RECORDED / name).read_text(), "# Port counters: Lid 3 port 1\nLinkDownedCounter:..9\n"
    one = read(tmp_path, a=text, c=counted)
    assert [*one.counters.values()] == [{"LinkDownedCounter": 9}]
    two = read(tmp_path, a=text, b=text.replace("b8cef6", "b8cef7"), c=counted)
    assert [len(each) for each in (two.switches, two.endpoints, two.cables)] == [12, 24, 2 * len(one.cables)]
    assert len(set(two.network_of.values())) == 2
    assert not two.counters


@pytest.mark.parametrize(("name", "text"), [("a.txt", "nothing of a fabric\n"), ("b.txt", ""), ("c.bin", "\0\1\2")])
def test_a_file_of_no_known_form(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match="no file of a fabric"):
        read_fabric([str(tmp_path / name)])
    with pytest.raises(InputError, match="no switch and no node"):
        read_fabric([str(tmp_path)])


def test_two_devices_with_one_guid(tmp_path):
    made = make_fabric(PLAN)
    twins = {made.endpoints[3].key: made.endpoints[0].key}
    fabric = read(tmp_path, ib=ibnetdiscover_text(made, twins))
    assert any("gpu001" in name or "gpu003" in name for ones in fabric.duplicates.values() for name in ones)


def test_lldp_of_two_switches_and_two_nodes():
    """What lldpctl printed on hosts in network namespaces: leaf-0 with n0 and n1 below, spine-0 above."""
    fabric = read_fabric([str(RECORDED / "lldp")])
    assert {one.name for one in fabric.switches.values()} == {"leaf-0", "spine-0"}
    assert names(fabric) == {"n0 eth0 - leaf-0[swp1]", "n1 eth0 - leaf-0[swp2]", "leaf-0[swp9] - spine-0[swp1]"}
    assert all(len(one.address) == 17 for one in fabric.endpoints)
    assert {fabric.switches[key].name: tier for key, tier in fabric.tier_of.items()} == {"leaf-0": 0, "spine-0": 1}


@pytest.mark.parametrize("device", ["leaf-0", "n0"])
def test_lldp_of_one_device(device):
    fabric = read_fabric([str(RECORDED / "lldp" / f"{device}.json")])
    assert "n0 eth0 - leaf-0[swp1]" in names(fabric)


def test_lldp_from_the_database_of_sonic(tmp_path):
    row = {"lldp_rem_sys_name": "n0", "lldp_rem_port_id": "00:11:22:33:44:55", "lldp_rem_port_desc": "eth0"}
    up = {"lldp_rem_sys_name": "spine-0", "lldp_rem_port_id": "Ethernet4", "lldp_rem_sys_cap_enabled": "28 00"}
    rows = {"LLDP_ENTRY_TABLE:Ethernet0": {"value": row}, "LLDP_ENTRY_TABLE:Ethernet8": {"value": up}}
    (tmp_path / "leaf-0.json").write_text(json.dumps(rows))
    fabric = read_fabric([str(tmp_path)])
    assert names(fabric) == {"n0 eth0 - leaf-0[Ethernet0]", "leaf-0[Ethernet8] - spine-0[Ethernet4]"}
    assert fabric.endpoints[0].address == "00:11:22:33:44:55"


AWS = {
    "Instances": [
        {"InstanceId": f"i-{number}", "NetworkNodes": ["nn-top", f"nn-{number // 4}", f"nn-leaf-{number // 2}"]}
        for number in range(8)
    ]
}
OCI = {
    "data": {
        "items": [
            {
                "instance-id": f"i-{number}",
                "hpc-island-id": "nn-top",
                "network-block-id": f"nn-{number // 4}",
                "local-block-id": f"nn-leaf-{number // 2}",
            }
            for number in range(8)
        ]
    }
}


@pytest.mark.parametrize("document", [AWS, OCI], ids=["aws", "oci"])
def test_clouds_name_the_tiers_above_each_instance(tmp_path, document):
    (tmp_path / "topology.json").write_text(json.dumps(document))
    fabric = read_fabric([str(tmp_path)])
    places = find_places(fabric, find_rails(fabric))
    assert [block.nodes for block in places.blocks] == [(f"i-{n}", f"i-{n + 1}") for n in (0, 2, 4, 6)]
    assert places.groups == (((0, 1), (2, 3)), ((0, 1, 2, 3),))


def test_slurm_files_with_continued_lines_and_blocks(tmp_path):
    (tmp_path / "topology.conf").write_text(
        "# sites\nSwitchName=a \\\n Nodes=n[0-1]\nswitchname=b nodes=n[2-3] LinkSpeed=9\nSwitchName=top Switches=a,b\n"
        "BlockName=c Nodes=m[0-1]\nBlockSizes=2\n"
    )
    fabric = read_fabric([str(tmp_path)])
    assert {one.name for one in fabric.switches.values()} == {"a", "b", "top", "c"}
    assert sorted(fabric.nodes) == ["m0", "m1", "n0", "n1", "n2", "n3"]


SOURCES = {path.name: path.read_bytes() for path in (*sorted(RECORDED.glob("*.txt")), RECORDED / "opensm-subnet.lst")}
SOURCES |= {
    "topology.conf": b"SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-7]\nSwitchName=c Switches=a,b\n",
    "topology.yaml": b"- topology: x\n  tree:\n    switches:\n    - switch: a\n      nodes: n[0-3]\n",
    "aws.json": b'{"Instances": [{"InstanceId": "i-1", "NetworkNodes": ["a", "b", "c"]}]}',
    "leaf.json": b'{"lldp": {"interface": [{"swp1": {"chassis": {"n1": {"id": {"type": "mac", "value": "0:0"}}}, '
    b'"port": {"id": {"type": "mac", "value": "00:00:00:00:00:01"}, "descr": "eth0"}}}]}}',
}


@pytest.mark.parametrize("name", SOURCES)
def test_readers_survive_any_damage(tmp_path, name):
    """Cut, changed, doubled and foreign bytes: a fabric or InputError, no other error."""
    rng, data = random.Random(name), SOURCES[name][:6000]
    path = tmp_path / name
    for _ in range(20):
        broken = bytearray(data)
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(broken))
            kind = rng.randrange(4)
            if kind == 0:
                broken[at] = rng.randrange(256)
            elif kind == 1:
                del broken[at : at + rng.randint(1, 60)]
            elif kind == 2:
                broken[at:at] = rng.choice([b"9" * 30, b"[", b'"', b"\n\n", b"{" * 9, b"0xffffffffffffffffff", b"\xff"])
            else:
                broken += broken[at : at + 300]
            broken = broken or bytearray(b"x")
        path.write_bytes(broken)
        try:
            fabric = read_fabric([str(path)])
        except InputError:
            continue
        assert all(isinstance(end, End) for cable in fabric.cables for end in cable.ends)
        assert fabric.leaf_of is not None
        assert fabric.tier_of is not None


def test_every_reader_has_a_source_that_is_damaged():
    unseen = [reader for reader in READERS if not any(reader.MARK.search(data[: 1 << 18]) for data in SOURCES.values())]
    assert unseen == []
