# SPDX-License-Identifier: Apache-2.0
"""Which interface is chosen, and why, on synthetic hosts; and that this host's own addresses are read right."""

import socket

import pytest

from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.transports import interface
from railgauge.transports.addresses import Address, local_addresses
from railgauge.transports.interface import bootstrap_interface, comm_id_port, parse_address, usable_interfaces


def address(name, text, obstacle=""):
    """One address as local_addresses() gives it, from `10.0.0.1/24`."""
    plain, _, bits = text.partition("/")
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    scoped = f"{plain}%{name}" if plain.startswith("fe80") else plain
    return Address(name, scoped, family, int(bits), obstacle)


NODE = [
    address("lo", "127.0.0.1/8"),
    address("docker0", "172.17.0.1/16"),
    address("eno1", "192.168.1.5/24", obstacle="down"),
    address("eth0", "10.0.0.1/24"),
    address("eth1", "10.0.1.1/24"),
    address("virbr0", "192.168.122.1/24"),
    address("lo", "::1/128"),
    address("eth0", "fd00::1/64"),
    address("eth0", "fe80::1/64"),
    address("eth2", "fe80::2/64"),
]
UNSET = "(NCCL_SOCKET_IFNAME is not set)"
IB = address("ib0", "10.1.0.1/24")


@pytest.fixture
def host(monkeypatch):
    def be(addresses):
        monkeypatch.setattr(interface, "local_addresses", lambda: addresses)

    be(NODE)
    return be


def names(environ):
    return [str(one).removesuffix("<0>") for one in usable_interfaces(environ)]


@pytest.mark.parametrize(
    ("setting", "want"),
    [
        ("eth", ["eth0:10.0.0.1", "eth1:10.0.1.1", "eth2:fe80::2%eth2"]),
        ("=eth1", ["eth1:10.0.1.1"]),
        ("^docker,lo,virbr,eth0", ["eth1:10.0.1.1", "eth2:fe80::2%eth2"]),
        ("^=lo,docker0,virbr0,eth0,eth2", ["eth1:10.0.1.1"]),
        ("virbr,docker", ["docker0:172.17.0.1", "virbr0:192.168.122.1"]),
        ("lo", ["lo:127.0.0.1"]),
        ("e", ["eth0:10.0.0.1", "eth1:10.0.1.1", "eth2:fe80::2%eth2"]),  # NCCL passes over one character
    ],
)
def test_socket_ifname(host, setting, want):
    assert names({"NCCL_SOCKET_IFNAME": setting}) == want


def test_the_default_order_of_names(host):
    def first(*addresses):
        host(list(addresses))
        return bootstrap_interface({})

    lo, docker, _, eth, _, virbr, *_ = NODE
    assert first(*NODE, IB).name == "ib0"
    assert first(lo, eth).reason == f"the first interface not named docker*, lo* or virbr* {UNSET}"
    assert first(lo, virbr, docker).name == "docker0"
    assert first(virbr, lo).name == "lo"
    assert first(virbr).name == "virbr0"
    assert str(first(lo, eth)) == "eth0:10.0.0.1<0>"


def test_what_would_have_come_first_but_cannot_be_used_is_said(host):
    lo, _, eno1, eth, *_ = NODE
    unplugged = address("eth0", "10.0.0.1/24", obstacle="no carrier")
    host([lo, eno1, unplugged])
    passed = "skipped: eno1 (down), eth0 (no carrier)"
    assert bootstrap_interface({}).reason == f"only lo* and virbr* interfaces exist {UNSET}; {passed}"
    host([lo, address("docker0", "172.17.0.1/16", obstacle="no carrier"), eth])
    assert "passed over" not in bootstrap_interface({}).reason


def test_the_family(host):
    assert names({"NCCL_SOCKET_FAMILY": "AF_INET6"}) == ["eth0:fd00::1", "eth2:fe80::2%eth2"]
    assert names({"NCCL_SOCKET_FAMILY": "AF_INET"}) == ["eth0:10.0.0.1", "eth1:10.0.1.1"]
    assert names({"NCCL_SOCKET_FAMILY": "ipv6"}) == names({})


@pytest.mark.parametrize(
    "environ",
    [
        {"NCCL_SOCKET_IFNAME": "wlan"},
        {"NCCL_SOCKET_IFNAME": "eno1"},  # down
        {"NCCL_SOCKET_IFNAME": "lo", "NCCL_SOCKET_FAMILY": "AF_INET6"},  # ::1 does not count
        {"GLOO_SOCKET_IFNAME": "eth0,wlan0"},
        {"NCCL_COMM_ID": "10.9.9.9:5000"},
    ],
)
def test_a_setting_that_matches_nothing_names_what_there_is(host, environ):
    with pytest.raises(UnavailableError) as caught:
        bootstrap_interface(environ)
    setting = next(iter(environ.values()))
    for part in (setting, "eno1 (192.168.1.5, down)", "eth0 (10.0.0.1)", "lo (::1)"):
        assert part in str(caught.value)


def test_an_exact_name_is_said_as_one_would_type_it(host):
    with pytest.raises(UnavailableError, match="to use: NCCL_SOCKET_IFNAME='=nope' matches no interface"):
        bootstrap_interface({"NCCL_SOCKET_IFNAME": "=nope"})


def test_a_host_without_addresses(host):
    host([])
    with pytest.raises(UnavailableError, match="no interface is up and has an address; interfaces: none"):
        bootstrap_interface({})


def test_gloos_list_is_exact_and_in_its_order_and_gives_way(host):
    gloo = {"GLOO_SOCKET_IFNAME": "eth1, docker0"}
    assert names(gloo) == ["eth1:10.0.1.1", "docker0:172.17.0.1"]
    assert names(gloo | {"NCCL_SOCKET_IFNAME": "eth0"}) == ["eth0:10.0.0.1"]
    with pytest.raises(UnavailableError, match="no interface eth"):
        usable_interfaces({"GLOO_SOCKET_IFNAME": "eth"})


@pytest.mark.parametrize(
    ("comm_id", "name"),
    [
        ("10.0.1.77:5000", "eth1"),
        ("127.0.0.1:5000", "lo"),
        ("[fd00::9]:5000", "eth0"),
        ("[fe80::9%eth2]:5000", "eth2"),
    ],
)
def test_the_interface_in_the_subnet_of_the_comm_id(host, comm_id, name):
    found = bootstrap_interface({"NCCL_COMM_ID": comm_id, "NCCL_SOCKET_IFNAME": "docker0"})
    assert found.name == name
    assert comm_id in found.reason


def test_the_comm_id_is_a_hint_for_data_too_but_after_ib(host):
    environ = {"NCCL_COMM_ID": "10.0.1.77:5000"}
    assert names(environ) == ["eth1:10.0.1.1"]
    host([*NODE, IB])
    assert names(environ) == ["ib0:10.1.0.1"]
    assert bootstrap_interface(environ).name == "eth1"


@pytest.mark.parametrize(
    "text", ["10.0.0.1", "10.0.0.1:", ":5000", "10.0.0.1:x", "10.0.0.1:70000", "fd00::1:5000", "a:²"]
)
def test_a_wrong_comm_id(text):
    with pytest.raises(UsageError, match="NCCL_COMM_ID"):
        parse_address(text)


def test_the_comm_ids_port():
    assert comm_id_port({}) == 0
    assert comm_id_port({"NCCL_COMM_ID": "[fd00::1]:5000"}) == 5000


def test_this_hosts_addresses():
    found = local_addresses()
    loopback = next(a for a in found if a.text == "127.0.0.1")
    assert (loopback.interface, loopback.obstacle, str(loopback.network)) == ("lo", "", "127.0.0.0/8")
    families = [a.family for a in found]
    assert families == sorted(families)  # IPv4 before IPv6, as getifaddrs lists them
