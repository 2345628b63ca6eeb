# SPDX-License-Identifier: Apache-2.0
"""Which interfaces NCCL_SOCKET_IFNAME and the default order choose."""

import pytest

from railgauge.topo.nccl.settings.interfaces import choose

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


def test_default_order():
    assert choose(NAMES[:5], None) == ("eth0", "eth1")
    assert choose(NAMES[:3], None) == ("docker0",)
    assert choose(("lo", "virbr0"), None) == ("lo",)
    assert choose((), None) == ()
