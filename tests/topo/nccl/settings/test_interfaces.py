# SPDX-License-Identifier: Apache-2.0
"""Which interfaces NCCL_SOCKET_IFNAME and the default order choose."""

import pytest

from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.nccl.settings.interfaces import choose, socket_interfaces

NAMES = ("lo", "docker0", "virbr0", "eth0", "eth1", "ib0")


@pytest.mark.parametrize(
    ("setting", "want"),
    [
        ("eth", ("eth0", "eth1")),
        ("=eth0", ("eth0",)),
        ("=eth", ()),
        ("^eth,ib", ("lo", "docker0", "virbr0")),
        ("^=eth0", ("lo", "docker0", "virbr0", "eth1", "ib0")),
        ("ib,eth1", ("eth1", "ib0")),
        ("wlan", ()),
        (None, ("ib0",)),
        ("", ("ib0",)),
    ],
)
def test_socket_ifname(setting, want):
    assert choose(NAMES, setting) == want


def test_a_whole_name_is_no_prefix_whether_it_is_meant_or_left_out():
    names = ("eth0", "eth01", "eth0.5")
    assert choose(names, "=eth0") == ("eth0",)
    assert choose(names, "^=eth0") == ("eth01", "eth0.5")
    assert choose(names, "^eth0") == ()


@pytest.mark.parametrize(
    ("setting", "want"),
    [
        ("eth0:1", ("eth0",)),
        ("=eth0:", ("eth0",)),
        (":eth0,eth1", ("eth1",)),
        ("=,", NAMES),
        ("=:", NAMES),
        ("^=", ()),
        ("^,", ()),
        (",".join(f"x{i}" for i in range(15)) + ",eth0", ("eth0",)),
        (",".join(f"x{i}" for i in range(16)) + ",eth0", ()),
    ],
)
def test_odd_lists_as_nccl_reads_them(setting, want):
    assert choose(NAMES, setting) == want


def test_nccl_before_2_28_takes_interfaces_that_are_down_and_virbr_before_lo():
    def entry(name, address, flags):
        return {"name": name, "index": 1, "flags": flags, "prefix": 24, "addresses": [address]}

    def on(*entries, **settings):
        facts = {"interfaces": {"interfaces": list(entries)}}
        reader = CaptureReader(Capture(manifest={}, facts=facts))
        return [socket_interfaces(reader, settings, former=former) for former in (False, True)]

    lo, virbr = entry("lo", "127.0.0.1", 0x49), entry("virbr0", "192.168.122.1", 0x43)
    eth0, eth1 = entry("eth0", "10.0.0.1", 0x3), entry("eth1", "fd00::1", 0x43)
    assert on(lo, virbr) == [("lo",), ("virbr0",)]
    assert on(lo, eth0, eth1) == [("eth1",), ("eth0", "eth1")]
    assert on(lo, eth0, eth1, NCCL_SOCKET_FAMILY="AF_INET6") == [("eth1",), ("eth1",)]
    assert on(lo, eth0, eth1, NCCL_SOCKET_FAMILY="AF_INET") == [("lo",), ("eth0",)]
    assert on(lo, eth0, eth1, NCCL_SOCKET_IFNAME="eth0") == [(), ("eth0",)]


def test_default_order():
    assert choose(NAMES[:5], None) == ("eth0", "eth1")
    assert choose(NAMES[:3], None) == ("docker0",)
    assert choose(("lo", "virbr0"), None) == ("lo",)
    assert choose((), None) == ()
