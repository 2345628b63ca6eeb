# SPDX-License-Identifier: Apache-2.0
"""The GID that NCCL takes: its walk through made-up tables and through those that people posted."""

import re
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.errors import UsageError
from railgauge.topo.facts.sources.sysfs_infiniband import Gid, RdmaPort
from railgauge.topo.nccl.settings.gid import GidSettings, check_gid_settings, choose_gid, ipv4, read_gid_settings

SAMPLES = Path(__file__).parents[5] / "shared" / "samples"
TYPES = {1: "IB/RoCE v1", 2: "RoCE v2", None: None}
LOCAL = "fe80::ac0:ebff:feda:1cfb"
IP4, OTHER4 = "::ffff:192.0.2.7", "::ffff:198.51.100.7"
IP6 = "2001:db8::7"
Entry = tuple[str, int | None]


def gid(index: int, address: str, version: int | None) -> Gid:
    return Gid(index=index, gid=ip_address(address).exploded, type=TYPES[version], netdev="eth0")


def port(table: dict[int, Entry], length: int = 16, link_layer: str = "Ethernet") -> RdmaPort:
    gids = tuple(gid(index, *entry) for index, entry in table.items())
    return RdmaPort(number=1, link_layer=link_layer, gid_table_length=length, gids=gids)


def chosen(table: dict[int, Entry], **settings: str) -> int:
    environment = {f"NCCL_IB_{key.upper()}": text for key, text in settings.items()}
    return choose_gid(port(table), read_gid_settings(environment)).index


USUAL = {0: (LOCAL, 1), 1: (LOCAL, 2), 2: (IP4, 1), 3: (IP4, 2)}
TWO_VLANS = {**USUAL, 4: (OTHER4, 1), 5: (OTHER4, 2)}
DUAL_STACK = {**USUAL, 4: (IP6, 1), 5: (IP6, 2)}


@pytest.mark.parametrize(
    ("table", "settings", "want"),
    [
        (USUAL, {}, 3),
        (USUAL, {"roce_version_num": "1"}, 2),
        (USUAL, {"gid_index": "1"}, 1),
        (USUAL, {"gid_index": "9"}, 9),  # used unchecked
        (USUAL, {"gid_index": "-1"}, 3),
        (TWO_VLANS, {}, 3),  # the first good one wins
        (TWO_VLANS, {"addr_range": "198.51.100.0/24"}, 5),
        (TWO_VLANS, {"addr_range": "203.0.113.0/24"}, 0),
        (TWO_VLANS, {"addr_range": "198.51.100.0"}, 3),  # no length: ignored
        (TWO_VLANS, {"addr_range": "198.51.100.0/33"}, 3),
        (TWO_VLANS, {"addr_range": "here/24"}, 3),
        (TWO_VLANS, {"addr_range": "198.51.100.0/-1"}, 0),  # nothing lies in it
        (DUAL_STACK, {}, 3),
        (DUAL_STACK, {"addr_family": "AF_INET6"}, 5),
        (DUAL_STACK, {"addr_family": "AF_INET6", "addr_range": "2001:db8::/32"}, 5),
        (DUAL_STACK, {"addr_family": "AF_INET6", "addr_range": "2001:db9::/32"}, 0),
        (DUAL_STACK, {"addr_family": "inet6"}, 3),  # no name of a family: ignored
        ({0: (LOCAL, 1), 1: (LOCAL, 2)}, {}, 0),  # no IPv4: NCCL stays at the first
        ({0: (LOCAL, 1), 1: (LOCAL, 2), 2: (IP6, 1), 3: (IP6, 2)}, {}, 0),
        ({0: (LOCAL, 1), 1: (LOCAL, 2), 2: (IP6, 1), 3: (IP6, 2)}, {"addr_family": "AF_INET6"}, 3),
        ({4: (IP4, 1), 5: (IP4, 2), 6: (LOCAL, 1), 7: (LOCAL, 2)}, {}, 5),  # the hole at 0 reads as zeros
        ({3: (IP4, None), 5: (IP4, 2)}, {}, 5),  # a type that a container hides
        ({0: (LOCAL, 2), 1: (IP4, 2)}, {}, 1),  # Soft-RoCE has no v1
        ({0: (IP4, 2), 1: (OTHER4, 2)}, {}, 0),
        ({0: (IP4, 1), 1: (LOCAL, 2)}, {"addr_family": "AF_INET6"}, 1),  # a change of family is enough, even unusable
        ({}, {}, 0),
    ],
)
def test_nccl_takes(table, settings, want):
    assert chosen(table, **settings) == want


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (USUAL, "first entry with RoCE v2, IPv4"),
        ({0: (LOCAL, 1)}, "no entry with RoCE v2, IPv4: NCCL keeps this one"),
        ({0: (LOCAL, 1), 1: (IP4, 1)}, "no entry with RoCE v2, IPv4: NCCL keeps this one"),
    ],
)
def test_the_reason_is_told(table, why):
    assert choose_gid(port(table), GidSettings()).why == why


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"NCCL_IB_GID_INDEX": "three"}, "NCCL_IB_GID_INDEX=three is not a number (the GID index of a RoCE port"),
        ({"NCCL_IB_ROCE_VERSION_NUM": "3"}, "NCCL_IB_ROCE_VERSION_NUM=3 is out of range 1..2 "),
        ({"NCCL_IB_ADDR_FAMILY": "ipv6"}, "NCCL_IB_ADDR_FAMILY=ipv6: use AF_INET or AF_INET6"),
        ({"NCCL_IB_ADDR_RANGE": "10.0.0.0/40"}, "expected a network of AF_INET, e.g. 192.0.2.0/24"),
        ({"NCCL_IB_ADDR_RANGE": "10.0.0.0/8", "NCCL_IB_ADDR_FAMILY": "AF_INET6"}, "of AF_INET6, e.g. 2001:db8::/64"),
    ],
)
def test_what_is_no_setting_is_refused_with_what_is(settings, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        check_gid_settings(settings)


def test_what_is_a_setting_is_taken():
    check_gid_settings({})
    check_gid_settings(
        {
            "NCCL_IB_GID_INDEX": "-1",
            "NCCL_IB_ROCE_VERSION_NUM": "1",
            "NCCL_IB_ADDR_FAMILY": "AF_INET6",
            "NCCL_IB_ADDR_RANGE": "2001:db8::/32",
        }
    )


def test_an_index_that_holds_nothing_has_no_gid():
    assert choose_gid(port(USUAL), GidSettings(index=9)).gid is None


def test_infiniband_uses_the_first_gid_or_the_one_with_a_flid():
    plain = port({0: ("fe80::946d:ae03:90:7832", 1)}, link_layer="InfiniBand")
    routed = port({0: ("fe80::1", 1), 1: ("fec0:0:17:1::1", 1)}, link_layer="InfiniBand")
    assert choose_gid(plain, GidSettings(index=3)).index == 0  # NCCL_IB_GID_INDEX is for RoCE
    assert choose_gid(routed, GidSettings()).index == 1
    assert choose_gid(routed, GidSettings(routable_flid_index=0)).index == 0


def test_the_place_of_the_routable_gid_is_a_setting():
    routed = port({0: ("fe80::1", 1), 3: ("fec0:0:17:1::1", 1)}, link_layer="InfiniBand")
    assert choose_gid(routed, read_gid_settings({})).index == 0
    assert choose_gid(routed, read_gid_settings({"NCCL_IB_ROUTABLE_FLID_GID_INDEX": "3"})).index == 3


@pytest.mark.parametrize("layer", ["Ethernet", "InfiniBand"])
def test_without_a_table_the_choice_is_unknown(layer):
    unread = RdmaPort(number=1, link_layer=layer)
    assert choose_gid(unread, GidSettings()).index is None


def test_a_set_index_is_known_without_a_table():
    assert choose_gid(RdmaPort(number=1, link_layer="Ethernet"), GidSettings(index=3)).index == 3


def test_addresses_in_gids():
    assert ipv4(gid(0, IP4, 2)) == "192.0.2.7"
    assert ipv4(gid(0, LOCAL, 2)) is None


@given(
    st.dictionaries(
        st.integers(0, 15), st.tuples(st.sampled_from((LOCAL, IP4, OTHER4, IP6)), st.sampled_from(list(TYPES)))
    )
)
def test_the_choice_is_good_whenever_a_good_entry_is_there(table):
    good = [index for index, entry in table.items() if entry in ((IP4, 2), (OTHER4, 2))]
    choice = choose_gid(port(table), GidSettings())
    assert choice.index in good or not good
    assert ("first entry" in choice.why) == bool(good)


def show_gids(name: str) -> dict[int, Gid]:
    """The entries in a show_gids table: DEV PORT INDEX GID [IPv4] VER DEV."""
    file = SAMPLES / name
    if not file.is_file():
        pytest.skip("no shared samples here")
    row = re.compile(r"^(?P<dev>\w+)\s+(\d+)\s+(\d+)\s+([0-9a-f:]{39})\s+(?:[\d.]+\s+)?v([12])\s+(\S+)$", re.MULTILINE)
    rows = (found.groups()[2:] for found in row.finditer(file.read_text()))
    return {
        int(index): Gid(index=int(index), gid=text, type=TYPES[int(version)], netdev=netdev)
        for index, text, version, netdev in rows
    }


@pytest.mark.parametrize(
    ("name", "count", "want", "address"),
    [
        ("show_gids-cx6-6entries.txt", 6, 5, "172.19.0.60"),
        ("show_gids-sriov-pod.txt", 4, 5, "10.12.0.21"),
        ("show_gids-empty.txt", 0, 0, None),
    ],
)
def test_posted_tables_replayed(name, count, want, address):
    table = show_gids(name)
    replayed = RdmaPort(number=1, link_layer="Ethernet", gid_table_length=128, gids=tuple(table.values()))
    choice = choose_gid(replayed, GidSettings())
    assert len(table) == count
    assert choice.index == want
    assert (ipv4(choice.gid) if choice.gid else None) == address


def test_the_table_of_ibv_devinfo_replayed():
    file = SAMPLES / "ibv_devinfo-v-gids.txt"
    if not file.is_file():
        pytest.skip("no shared samples here")
    rows = re.findall(r"GID\[\s*(\d+)\]:\s+(\S+), RoCE v([12])", file.read_text())
    gids = tuple(gid(int(index), address, int(version)) for index, address, version in rows)
    choice = choose_gid(RdmaPort(number=1, link_layer="Ethernet", gid_table_length=256, gids=gids), GidSettings())
    assert (len(gids), choice.index) == (4, 3)
    assert choice.gid is not None
    assert ipv4(choice.gid) == "200.0.209.6"
