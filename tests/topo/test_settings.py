# SPDX-License-Identifier: Apache-2.0
"""NCCL_SOCKET_IFNAME and the spellings of bus ids and cores."""

import pytest

from railgauge.topo import busid, cpuset
from railgauge.topo.settings.interfaces import choose

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


def test_default_order():
    assert choose(NAMES[:5], None) == ("eth0", "eth1")
    assert choose(NAMES[:3], None) == ("docker0",)
    assert choose(("lo", "virbr0"), None) == ("lo",)
    assert choose((), None) == ()


def test_bus_ids():
    assert busid.to_number("0000:1b:00.0") == 0x1B000
    assert busid.from_nvml("00000000:1B:00.0") == "0000:1b:00.0"
    assert busid.from_nvml("FFFFFFFF:FF:FF.0") == "fffffff:ff:ff.0"
    assert busid.is_bus_id("0000:1b:00.0")
    assert not busid.is_bus_id("pci0000:00")


def test_cores():
    assert cpuset.from_list("0-3,8\n") == (0, 1, 2, 3, 8)
    assert cpuset.from_mask("00000001,0000000f") == (0, 1, 2, 3, 32)
    assert cpuset.to_list((0, 1, 2, 8)) == "0-2,8"
    with pytest.raises(ValueError, match="too many"):
        cpuset.from_list("0-99999999")
