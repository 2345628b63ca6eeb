# SPDX-License-Identifier: Apache-2.0
"""The RDMA table: every field of ibstat, ibv_devinfo and ibdev2netdev is in it, at any width."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.topo.rdma_tree import ROCE, RdmaTree

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.nccl.detect.rdma_survey import RdmaSurvey, survey_rdma
from railgauge.topo.render.palette import Ink, text_of
from railgauge.topo.render.rdma import rdma_document, rdma_lines

SAMPLES = Path(__file__).parents[4] / "shared" / "samples"
SETTINGS = ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ROCE_VERSION_NUM")
LOCAL = "fe80:0000:0000:0000:0ac0:ebff:feda:1cfb"
MAPPED = "0000:0000:0000:0000:0000:ffff:c000:0207"
ROCE_GIDS = {
    0: (LOCAL, "IB/RoCE v1", "bond0"),
    1: (LOCAL, "RoCE v2", "bond0"),
    2: (MAPPED, "IB/RoCE v1", "bond0"),
    3: (MAPPED, "RoCE v2", "bond0"),
}


@pytest.fixture
def tree(tmp_path):
    tree = RdmaTree(tmp_path)
    tree.device("mlx5_0", "0000:18:00.0", netdev="ibp24s0")
    tree.port("mlx5_0", gids={0: ("fe80:0000:0000:0000:946d:ae03:0090:7832", "IB/RoCE v1", None)})
    tree.device("mlx5_1", "0000:2a:00.0", numa=1)
    tree.port("mlx5_1", state="1: DOWN", phys_state="2: Polling", rate="10 Gb/sec (4X)")
    tree.device("mlx5_bond_0", "0000:3b:00.0", hca_type="MT4125")
    tree.port("mlx5_bond_0", gids=ROCE_GIDS, **ROCE)
    return tree


def survey(tree: RdmaTree, **environment: str) -> RdmaSurvey:
    return survey_rdma(LiveReader(str(tree.root)), environment)


def text(tree: RdmaTree, width: int | None = None, **environment: str) -> str:
    return "\n".join(text_of(line) for line in rdma_lines(survey(tree, **environment), width))


def test_a_row_tells_what_nccl_takes(tree):
    rows = {row.split()[0]: row for row in text(tree).splitlines()[1:4]}
    assert rows["mlx5_0"].endswith("NET 0, GID 0")
    assert rows["mlx5_1"].endswith("no")
    assert rows["mlx5_bond_0"].endswith("NET 1, GID 3 (192.0.2.7)")
    assert "NCCL does not use mlx5_1: port state is DOWN" in text(tree)


def test_gids_of_one_address_share_a_line(tree):
    assert "GID 0 (RoCE v1), 1 (RoCE v2)  fe80::ac0:ebff:feda:1cfb  link-local  bond0" in text(tree)
    assert "GID 2 (RoCE v1), 3 (RoCE v2)  192.0.2.7  bond0  <- NCCL uses 3: first entry with RoCE v2, IPv4" in text(
        tree
    )


def test_settings_that_take_ports_away_are_told(tree):
    assert "NCCL does not use mlx5_bond_0: excluded by NCCL_IB_HCA" in text(tree, NCCL_IB_HCA="=mlx5_0")
    assert "'mlx5_7' matches no port" in text(tree, NCCL_IB_HCA="mlx5_0,mlx5_7")
    assert "NCCL does not use mlx5_0, mlx5_1, mlx5_bond_0: NCCL_NET=Socket" in text(tree, NCCL_NET="Socket")


def test_a_gid_index_that_holds_nothing_is_told(tree):
    assert "mlx5_bond_0:1: GID 6 is empty, so connections will fail" in text(tree, NCCL_IB_GID_INDEX="6")


def test_iwarp_is_told_to_be_of_no_use(tree):
    tree.device("siw0", "0000:5c:00.0", node_type="4: RNIC")
    tree.port("siw0", **ROCE)
    assert "siw0:1: iWARP needs rdma_cm" in text(tree)
    assert "Ethernet (iWARP)" in text(tree)


@pytest.mark.parametrize(("node_type", "transport"), [("1: CA", "InfiniBand"), ("4: RNIC", "iWARP")])
def test_the_transport_is_told_as_ibv_devinfo_does(tmp_path, node_type, transport):
    tree = RdmaTree(tmp_path / "one")
    tree.device("x0", "0000:5c:00.0", node_type=node_type)
    tree.port("x0", **ROCE)
    assert f"Transport {transport}," in text(tree)
    assert rdma_document(survey(tree))["devices"][0]["transport"] == transport


def test_merged_ports_are_told(tree):
    tree.device("mlx5_2", "0000:18:00.1")
    tree.port("mlx5_2")
    assert "NCCL merges mlx5_0+mlx5_2 into one NIC when it runs" in text(tree)


def test_no_rdma_device_is_one_clear_line(tmp_path):
    assert text(RdmaTree(tmp_path)) == "No RDMA device (/sys/class/infiniband is empty): NCCL uses sockets."


def test_a_device_that_vanishes_is_told_beside_the_others_and_alone(tree, tmp_path):
    tree.link("/sys/class/infiniband/mlx5_8", "/sys/devices/gone")
    assert "mlx5_8: no readable port" in text(tree)
    assert rdma_document(survey(tree))["devices"][2]["ports"] == []
    alone = RdmaTree(tmp_path / "alone")
    alone.link("/sys/class/infiniband/mlx5_8", "/sys/devices/gone")
    assert text(alone) == "mlx5_8: no readable port"


def test_ports_beyond_nccls_limit_are_told(tmp_path):
    tree = RdmaTree(tmp_path)
    for number in range(33):
        tree.device(f"mlx5_{number}", f"0000:{number + 16:x}:00.0")
        tree.port(f"mlx5_{number}", table=1)
    assert "NCCL does not use mlx5_32: NCCL uses at most 32 ports" in text(tree)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160, 200])
def test_narrow_terminals_lose_no_field(tree, width):
    lines = text(tree, width).splitlines()
    assert max(map(len, lines)) <= width
    found = set(re.findall(r"[^\s,()]+", text(tree, width)))
    assert not {word for word in re.findall(r"[^\s,()]+", text(tree)) if word != "-"} - found


def test_unused_ports_are_marked(tree):
    inks = [ink for ((_, ink),) in rdma_lines(survey(tree))][:4]
    assert inks == [Ink.HEADING, Ink.GOOD, Ink.WARNING, Ink.GOOD]


def test_the_document_has_devices_ports_gids_and_nccls_choice(tree):
    document = rdma_document(survey(tree))
    assert [device["name"] for device in document["devices"]] == ["mlx5_0", "mlx5_1", "mlx5_bond_0"]
    (port,) = document["devices"][2]["ports"]
    assert (port["protocol"], port["rate_gbps"], len(port["gids"])) == ("roce", 400.0, 4)
    assert (port["nccl"]["dev"], port["nccl"]["gid_index"], port["nccl"]["guid"]) == (1, 3, "0x3278900003ae6d94")
    assert document["devices"][1]["ports"][0]["nccl"] is None
    assert document["devices"][1]["ports"][0]["unused"] == "port state is DOWN"


JUNK = st.one_of(
    st.sampled_from(
        ["", "-1", "0x", "4:", "9" * 5000, "1: CA", "4: ACTIVE", "Ethernet", "InfiniBand", "RoCE v2", LOCAL, "zz:"]
    ),
    st.sampled_from(["9" * 400 + " Gb/sec (4X NDR)", "400 Gb/sec (9999999X NDR)", "fe80::1", MAPPED]),
    st.text(max_size=40),
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.data(), environment=st.dictionaries(st.sampled_from(SETTINGS), JUNK.filter(lambda text: "\0" not in text))
)
def test_whatever_the_files_and_settings_hold_a_table_comes_out(tree, data, environment):
    plain = LiveReader(str(tree.root))

    class Junk(LiveReader):
        def text(self, path: str) -> str | None:
            return data.draw(JUNK) or None if "infiniband" in path and data.draw(st.booleans()) else plain.text(path)

    found = survey_rdma(Junk(str(tree.root)), environment)
    assert len(rdma_document(found)["devices"]) == 3
    assert len(rdma_lines(found, 80)) > len(found.ports)


# What other tools print: each device becomes a tree, and every value has to be found in our table again.

IBSTAT = {
    "CA type": "hca_type",
    "Firmware version": "fw_ver",
    "Hardware version": "hw_rev",
    "Node GUID": "node_guid",
    "System image GUID": "sys_image_guid",
}
IBSTAT_PORT = {
    "State": "state",
    "Physical state": "phys_state",
    "Rate": "rate",
    "Base lid": "lid",
    "LMC": "lid_mask_count",
    "SM lid": "sm_lid",
    "Capability mask": "cap_mask",
    "Link layer": "link_layer",
}
NOT_OURS = {"Number of ports", "Port GUID"}


def sample(name: str) -> str:
    file = SAMPLES / name
    if not file.is_file():
        pytest.skip("no shared samples here")
    return file.read_text()


def ibstat(text: str) -> dict[str, dict[str, str]]:
    """Fields by CA, of one port each; what the poster cut out reads "..."."""
    devices: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if found := re.match(r"CA '(\w+)'", line):
            fields = devices[found[1]] = {}
        elif found := re.match(r"\s+([A-Z][\w ]+): (.+)", line):
            fields[found[1]] = found[2]
    return devices


def guid(text: str) -> str:
    digits = text.removeprefix("0x")
    return ":".join(digits[i : i + 4] for i in range(0, 16, 4))


def in_sysfs(field: str, value: str) -> str:
    if field.endswith("GUID"):
        return guid(value)
    return f"{value} Gb/sec (4X EDR)" if field == "Rate" else f"9: {value}" if field.endswith("tate") else value


@pytest.mark.parametrize("name", ["ibstat-roce.txt", "ibstat-polling-down.txt", "ibstat-ibpanic-partial.txt"])
def test_every_field_of_ibstat_is_in_the_table(tmp_path, name):
    tree, told = RdmaTree(tmp_path), ibstat(sample(name))
    assert told
    for number, (device, fields) in enumerate(told.items()):
        assert set(fields) == set(IBSTAT) | set(IBSTAT_PORT) | NOT_OURS
        known = {field: value for field, value in fields.items() if value != "..."}
        texts = {IBSTAT[f]: in_sysfs(f, value) for f, value in known.items() if f in IBSTAT}
        tree.device(device, f"0000:{number + 16:x}:00.0", **texts)
        port = {IBSTAT_PORT[f]: in_sysfs(f, value) for f, value in known.items() if f in IBSTAT_PORT}
        tree.port(device, **port)
        table = text(tree)
        for field, value in known.items():
            want = guid(value) if field.endswith("GUID") else value
            assert want in table or field == "Port GUID", field
        assert all(
            label in table for label in ("CA type", "SM LID", "LMC", "Capability mask", "Link layer", "Number of ports")
        )


def test_the_port_guid_is_the_lower_half_of_gid_0(tree):
    assert "Port GUID 946d:ae03:0090:7832" in text(tree)


def test_port_guids_as_ibstat_lists_them(tmp_path):
    """A list of one port GUID a host, as `ibstat -p` prints it."""
    guids = re.findall(r"^[0-9a-f]{16}$", sample("superbench-ib_traffic_topo_aware_ibstat.txt"), re.MULTILINE)
    tree = RdmaTree(tmp_path)
    for number, told in enumerate(guids):
        tree.device(f"mlx5_{number}", f"0000:{number + 16:x}:00.0")
        tree.port(f"mlx5_{number}", gids={0: (f"fe80:0000:0000:0000:{guid(told)}", "IB/RoCE v1", None)})
    assert len(guids) == 10
    assert re.findall(r"Port GUID (\S+),", text(tree)) == [guid(told) for told in guids]


@pytest.mark.parametrize("name", ["ibv_devinfo-port-down.txt", "ibv_devinfo-azure-hbv2-eth-and-ib.txt"])
def test_every_field_of_ibv_devinfo_is_in_the_table(tmp_path, name):
    fields = dict(re.findall(r"(\w+):\s+(\S.*)", sample(name)))
    tree = RdmaTree(tmp_path)
    device = fields["hca_id"]
    same = {key: fields[key] for key in ("node_guid", "sys_image_guid", "fw_ver", "board_id")}
    tree.device(device, "0000:18:00.0", hw_rev=fields["hw_ver"], **same)
    state = fields["state"].removeprefix("PORT_").partition(" ")[0]
    tree.port(device, **{**ROCE, "state": f"4: {state}", "link_layer": fields["link_layer"]})
    mtu = {key: int(fields[key].partition("(")[2].strip(")")) for key in ("max_mtu", "active_mtu")}
    ids = {"vendor_id": int(fields["vendor_id"], 16), "vendor_part_id": int(fields["vendor_part_id"])}
    verbs = {"devices": [{"name": device, **ids, "ports": [{"number": 1, **mtu}]}]}
    reader = LiveReader(str(tmp_path), {"verbs": lambda: verbs})
    table = "\n".join(text_of(line) for line in rdma_lines(survey_rdma(reader, {})))
    for want in (
        device,
        state,
        "MTU 1024 of 4096",
        f"Vendor {fields['vendor_id']}",
        f"Part {fields['vendor_part_id']}",
        *same.values(),
    ):
        assert want in table


def test_every_line_of_ibdev2netdev_is_a_row(tmp_path):
    rows = re.findall(r"^(\w+)\s+port\s+(\d+)\s+==>\s+(\w+)", sample("ibdev2netdev-imbue-h100.txt"), re.MULTILINE)
    tree = RdmaTree(tmp_path)
    for number, (device, _, netdev) in enumerate(rows):
        tree.device(device, f"0000:{number + 16:x}:00.0", netdev=netdev)
        tree.port(device)
    table = text(tree)
    assert len(rows) == 12
    for device, port, netdev in rows:
        assert re.search(rf"^{device}\s+{port}\s.*\s{netdev}\s", table, re.MULTILINE)
