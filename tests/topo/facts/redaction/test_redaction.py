# SPDX-License-Identifier: Apache-2.0
"""Redaction: nothing of the machine's identity is left, and all answers are the same but for the pseudonyms."""

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from railgauge.fixtures.__main__ import load
from railgauge.topo.facts.capture import Capture, CaptureReader, dumps, loads
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.redaction.pseudonym import Pseudonyms, derived_key
from railgauge.topo.facts.redaction.redaction import Redaction, redact
from railgauge.topo.facts.sources.host_identity import BOOT_ID, HOSTNAME
from railgauge.topo.files.compression import unpack
from railgauge.topo.machine import record
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.xml import topology_file

KEY = derived_key("secret")
NAMES = ("dgx-h100", "gb200-tray", "pcie-switch", "h200x4")
RDMA = "/sys/devices/pci0000:00/0000:00:01.0/infiniband/mlx5_0"
TEXTS = {
    HOSTNAME: "gpu-03.cluster.example.com",
    BOOT_ID: "a0861f19-dec1-4079-bdc1-b80e393fbc32",
    "/sys/class/dmi/id/product_serial": "ABC1234567",
    "/sys/class/net/enx0c42a1651234/address": "0c:42:a1:65:12:34",
    "/sys/class/net/ib0/address": "00:00:10:49:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:65:12:34",
    "/sys/class/net/.seen": "lo\nenx0c42a1651234",
    f"{RDMA}/node_guid": "0c42:a103:0065:1234",
    f"{RDMA}/node_desc": "gpu-03 mlx5_0",
    f"{RDMA}/fw_ver": "28.39.1002",
    f"{RDMA}/board_id": "MT_0000000838",
    f"{RDMA}/ports/1/gids/0": "fe80:0000:0000:0000:0e42:a1ff:fe65:1234",
    f"{RDMA}/ports/1/gids/1": "0000:0000:0000:0000:0000:ffff:c0a8:0703",
    f"{RDMA}/ports/1/gids/2": "0000:0000:0000:0000:0000:0000:0000:0000",
    "/proc/cpuinfo": "processor : 0\nmodel name : gpu-like 1.2.3.4",
    "/var/run/topo.xml": '<net guid="0xc42a10300651234" name="gpu-03-ib0" addr="192.168.7.3"/>',
    "/var/run/swapped.xml": '<net guid="0x3412650003a1420c"/>',
}
FACTS = {
    "nvml": {
        "gpus": [
            {"index": 0, "uuid": "GPU-0e21a5b6-0d1c-4a5e-9f53-5d6f6e6a1b2c", "serial": "1654923004567"},
            {"index": 1, "uuid": "GPU-one", "fabric": {"cluster": "0123456789abcdef0123456789abcdef"}},
        ]
    },
    "interfaces": {
        "interfaces": [
            {"name": "eth0", "addresses": ["192.168.7.3", "192.168.7.4", "fe80::e42:a1ff:fe65:1234", "fd00:1::7"]}
        ]
    },
    "pci_config": {"functions": {"0000:01:00.0": {"size": 4096, "serial": "0c42a1fffe651234"}}},
    "verbs": {
        "asked": "/home/jdoe/venv/bin/python",
        "devices": [{"node_guid": 0x0C42A10300651234, "gids": ["::ffff:192.168.7.3"]}],
    },
}
SECRETS = (
    *(
        "gpu-03",
        "cluster.example",
        "a0861f19",
        "ABC1234567",
        "65:12:34",
        "0065:1234",
        "651234",
        "3412650003",
        "1654923",
    ),
    *("fe65:1234", "c0a8:0703", "192.168.7.3", "192.168.7.4", "0e21a5b6", "GPU-one", "89abcdef", "fd00:1::7"),
    *(str(0x0C42A10300651234), "jdoe"),
)
MADE = Capture(manifest={"schema": "railgauge/capture/1", "host": TEXTS[HOSTNAME]}, texts=TEXTS, facts=FACTS)


def whole(capture):
    return unpack(dumps(capture), "x").decode("utf-8", "replace").lower()


def test_no_identifier_is_left():
    assert [secret for secret in SECRETS if secret.lower() not in whole(MADE)] == []  # the list is no fiction
    assert [secret for secret in SECRETS if secret.lower() in whole(redact(MADE, KEY))] == []


def colons(value, digits, group):
    text = f"{value:0{digits}x}"
    return ":".join(text[i : i + group] for i in range(0, digits, group))


@given(
    mac=st.integers(1 << 24, (1 << 48) - 2).filter(lambda mac: mac & 0xFFFFFF),
    ip=st.ip_addresses(v=4, network="10.0.0.0/8"),
    uuid=st.uuids(version=4),
    host=st.from_regex(r"[g-z]{4,8}-[0-9]{2,4}", fullmatch=True),
)
def test_no_identifier_of_any_machine_is_left(mac, ip, uuid, host):
    guid, local = mac >> 24 << 40 | 0x0300 << 24 | mac & 0xFFFFFF, colons(mac, 12, 2)
    texts = {
        HOSTNAME: host,
        BOOT_ID: str(uuid),
        "/sys/class/net/eth0/address": local,
        f"/sys/class/net/enx{mac:012x}/operstate": "up",
        f"{RDMA}/node_guid": colons(guid, 16, 4),
        f"{RDMA}/node_desc": f"{host} mlx5_0",
        f"{RDMA}/ports/1/gids/1": colons(0xFFFF << 32 | int(ip), 32, 4),
    }
    entry = {"name": "eth0", "addresses": [str(ip), f"fe80::{colons(guid, 16, 4)}"]}
    facts = {"interfaces": {"interfaces": [entry]}, "nvml": {"gpus": [{"index": 0, "uuid": f"GPU-{uuid}"}]}}
    text = whole(redact(Capture(manifest={"host": host}, texts=texts, facts=facts), KEY))
    pseudonyms = Pseudonyms(KEY)
    assume(pseudonyms.mac(mac) != mac and pseudonyms.ipv4(int(ip)) != int(ip))
    secrets = (host, str(uuid), local, f"{mac:012x}", colons(guid, 16, 4), f"{guid:016x}", colons(int(ip), 8, 4))
    assert [secret for secret in secrets if secret in text] == []
    assert not re.search(rf"(?<![\d.]){re.escape(str(ip))}(?![\d.])", text)


def test_what_says_nothing_of_the_individual_stays():
    redacted = redact(MADE, KEY)
    for path in (f"{RDMA}/fw_ver", f"{RDMA}/board_id", f"{RDMA}/ports/1/gids/2", "/proc/cpuinfo"):
        assert redacted.texts[path] == TEXTS[path]


def test_shapes_and_relations_stay():
    texts = redact(MADE, KEY).texts
    label, domain = texts[HOSTNAME].split(".")
    assert re.fullmatch(r"host-[0-9a-f]{8}", label)
    assert re.fullmatch(r"domain-[0-9a-f]{8}", domain)
    assert texts[f"{RDMA}/node_desc"] == f"{label} mlx5_0"
    mac = next(path for path in texts if path.endswith("/address") and "enx" in path)
    assert texts[mac].replace(":", "") in mac
    assert re.fullmatch(r"0c:42:a1(:[0-9a-f]{2}){3}", texts[mac])
    guid = texts[f"{RDMA}/node_guid"]
    assert re.fullmatch(r"0c42:a103:00[0-9a-f]{2}:[0-9a-f]{4}", guid)
    assert guid.replace(":", "").lstrip("0") in texts["/var/run/topo.xml"]
    assert texts["/sys/class/net/ib0/address"].replace(":", "").endswith(guid.replace(":", ""))
    assert texts[f"{RDMA}/ports/1/gids/0"].startswith("fe80:0000:0000:0000:0e42:a1ff:fe")
    assert texts[f"{RDMA}/ports/1/gids/1"].startswith("0000:0000:0000:0000:0000:ffff:c0a8:")
    one, two, local, _ = redact(MADE, KEY).facts["interfaces"]["interfaces"][0]["addresses"]
    assert one.rpartition(".")[0] == two.rpartition(".")[0] != "192.168.7"
    assert one != two
    assert local.startswith("fe80::e42:a1ff:fe")
    assert one in texts["/var/run/topo.xml"]


def test_one_key_one_pseudonym_between_captures():
    assert redact(MADE, KEY) == redact(MADE, KEY)
    other = redact(MADE, derived_key("other"))
    assert other.texts[HOSTNAME] != redact(MADE, KEY).texts[HOSTNAME]
    assert CaptureReader(other).redacted != CaptureReader(redact(MADE, KEY)).redacted


@pytest.mark.parametrize("name", NAMES)
def test_a_redacted_machine_answers_the_same(name):
    capture = load(name)
    hidden = loads(dumps(redact(capture, KEY)), "x")
    known = Redaction(Pseudonyms(KEY))
    known.learn(capture)
    plain, other = scan(CaptureReader(capture), {}), scan(CaptureReader(hidden), {})
    assert no_hash(known.text(topology_file.dumps(plain.topology))) == no_hash(topology_file.dumps(other.topology))
    assert [known.text(warning) for warning in plain.warnings] == list(other.warnings)
    old, new = build_system(plain.topology), build_system(other.topology)
    assert [(a, b, path.type, path.gb_per_s) for a, b, path in paths(old)] == [
        (a, b, path.type, path.gb_per_s) for a, b, path in paths(new)
    ]
    assert known.text(inventory(capture)) == inventory(hidden)


def inventory(capture):
    taken = MachineFacts(CaptureReader(capture)).read_all()
    return repr(taken | {"host": taken["host"]._replace(name=None), "identity": None})  # a name may be any word


def no_hash(text):
    return re.sub(r'host_hash="[^"]*"', "", text)


def test_a_redacted_recording_of_this_machine_holds_none_of_its_addresses():
    capture, _ = record()
    text = whole(redact(capture, KEY))
    facts = capture.facts["interfaces"] or {}
    addresses = [one for entry in facts.get("interfaces", []) for one in entry["addresses"]]
    addresses += [text for path, text in capture.texts.items() if path.endswith("/address")]
    told = [one for one in addresses if one.strip("0:") not in ("", "1", "127.0.0.1") and one in text]
    assert told == []
    assert str(capture.texts.get(BOOT_ID)) not in text


def test_a_name_that_is_a_common_word_leaves_other_texts_alone():
    capture = replace(MADE, texts={HOSTNAME: "up", "/sys/class/net/eth0/operstate": "up"}, facts={})
    texts = redact(capture, KEY).texts
    assert texts["/sys/class/net/eth0/operstate"] == "up"
    assert texts[HOSTNAME].startswith("host-")


def test_a_mac_in_the_name_of_an_interface_goes_whatever_its_address_is():
    net = "/sys/devices/pci0000:00/0000:00:01.0/net/enx0c42a1651234"
    slave = Capture(
        manifest={},
        texts={f"{net}/address": "02:11:22:33:44:55", "/sys/class/net/.seen": "lo\nenx0c42a1651234\nwlx0c42a1777777"},
        links={"/sys/class/net/enx0c42a1651234": net},
        facts={"interfaces": {"interfaces": [{"name": "enx0c42a1888888", "addresses": []}]}},
    )
    redacted = redact(slave, KEY)
    left = whole(redacted)
    assert [digits for digits in ("0c42a1651234", "0c42a1777777", "0c42a1888888") if digits in left] == []
    assert f"enx{Pseudonyms(KEY).mac(0x0C42A1651234):012x}" in redacted.texts["/sys/class/net/.seen"]


def test_a_topology_file_of_another_machine_names_none():
    text = '<cpu host_hash="0x1f2e3d4c5b6a7988"><net guid="0x9d0c42a103006512" speed="400000"/></cpu>'
    redacted = redact(Capture(manifest={}, texts={"/etc/topo.xml": text}), KEY).texts["/etc/topo.xml"]
    assert "1f2e3d4c5b6a7988" not in redacted
    assert "9d0c42a103006512" not in redacted
    assert 'speed="400000"' in redacted
