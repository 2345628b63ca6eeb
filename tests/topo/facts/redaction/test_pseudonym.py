# SPDX-License-Identifier: Apache-2.0
"""Pseudonyms: one to one, of the same shape, and with the relations that a machine is read by."""

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.facts.redaction.pseudonym import LOCAL_BIT, Pseudonyms, derived_key

ONE, OTHER = Pseudonyms(b"1" * 32), Pseudonyms(b"2" * 32)
MACS, GUIDS = st.integers(0, (1 << 48) - 1), st.integers(0, (1 << 64) - 1)
V4, V6 = st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 128) - 1)


def eui64(mac):
    return (mac >> 24 ^ LOCAL_BIT) << 40 | 0xFFFE << 24 | mac & 0xFFFFFF


def mellanox(mac):
    return mac >> 24 << 40 | 0x0300 << 24 | mac & 0xFFFFFF


@given(MACS, MACS)
def test_two_macs_stay_two(a, b):
    assert (ONE.mac(a) == ONE.mac(b)) == (a == b)


@given(MACS.filter(lambda mac: not mac >> 24 & LOCAL_BIT))
def test_the_vendor_of_a_mac_stays(mac):
    assert ONE.mac(mac) >> 24 == mac >> 24


@given(MACS.filter(lambda mac: 0 < mac < (1 << 48) - 1))
def test_what_is_made_of_a_mac_is_made_of_its_pseudonym(mac):
    assert ONE.guid(eui64(mac)) == eui64(ONE.mac(mac))
    if not mac >> 24 & LOCAL_BIT and mac & 0xFFFFFF:
        assert ONE.guid(mellanox(mac)) == mellanox(ONE.mac(mac))
        assert ONE.guid(mellanox(mac) | LOCAL_BIT << 40) == mellanox(ONE.mac(mac)) | LOCAL_BIT << 40


@given(V4, V4, st.integers(8, 32))
def test_a_shared_network_stays_shared(a, b, length):
    new_a, new_b = ONE.ipv4(a), ONE.ipv4(b)
    ordinary = all(0 < one >> 24 < 224 and one >> 24 != 127 for one in (a, b))
    if ordinary and a >> 24 == b >> 24:
        assert (new_a >> (32 - length) == new_b >> (32 - length)) == (a >> (32 - length) == b >> (32 - length))


@given(V6, GUIDS)
def test_a_shared_subnet_of_v6_stays_shared(a, lower):
    b = a >> 64 << 64 | lower
    if 0 < a >> 64 < 0xFF << 56:
        assert ONE.ipv6(a) >> 64 == ONE.ipv6(b) >> 64


@given(V4)
def test_an_ipv4_address_stays_of_its_kind(value):
    old, new = ipaddress.IPv4Address(value), ipaddress.IPv4Address(ONE.ipv4(value))
    for kind in ("is_loopback", "is_multicast", "is_link_local", "is_unspecified"):
        assert getattr(old, kind) == getattr(new, kind)
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"):
        assert (old in ipaddress.ip_network(network)) <= (new in ipaddress.ip_network(network))


@given(V6)
def test_an_ipv6_address_stays_of_its_kind(value):
    old, new = ipaddress.IPv6Address(value), ipaddress.IPv6Address(ONE.ipv6(value))
    for kind in ("is_loopback", "is_multicast", "is_link_local", "is_unspecified"):
        assert getattr(old, kind) == getattr(new, kind)
    assert (old.ipv4_mapped is None) == (new.ipv4_mapped is None)


def test_a_mapped_address_is_the_pseudonym_of_the_plain_one():
    mapped = ipaddress.IPv6Address("::ffff:192.168.7.9")
    assert ONE.ipv6(int(mapped)) & 0xFFFFFFFF == ONE.ipv4(int(mapped.ipv4_mapped))


def test_what_names_nobody_stays():
    for text in ("::", "::1", "ff02::1", "fe80::"):
        assert ONE.ipv6(int(ipaddress.IPv6Address(text))) == int(ipaddress.IPv6Address(text))
    assert (ONE.mac(0), ONE.guid(0), ONE.digits(0)) == (0, 0, 0)
    assert ONE.mac((1 << 48) - 1) == (1 << 48) - 1


def test_another_key_makes_other_pseudonyms():
    mac = 0x0C42A1651234
    assert ONE.mac(mac) != OTHER.mac(mac)
    assert ONE.word("host", "gpu-03") != OTHER.word("host", "gpu-03")
    assert ONE.mark != OTHER.mark
    assert derived_key("a") == derived_key("a") != derived_key("b")
