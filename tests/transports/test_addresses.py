# SPDX-License-Identifier: Apache-2.0
"""How addresses are written, and reached from here."""

import ctypes
import errno
import os
from types import SimpleNamespace

import pytest

from railgauge.topo.errors import UnavailableError
from railgauge.transports import addresses
from railgauge.transports.addresses import from_here, host_and_port, local_addresses


@pytest.mark.parametrize(
    ("host", "text"),
    [("10.0.0.1", "10.0.0.1:80"), ("gpu-01", "gpu-01:80"), ("::1", "[::1]:80"), ("fe80::1%eth0", "[fe80::1%eth0]:80")],
)
def test_ipv6_has_brackets_before_a_port(host, text):
    assert host_and_port(host, 80) == text


@pytest.mark.parametrize(
    ("address", "reached"),
    [
        ("fe80::1%eth7", "fe80::1%ib0"),
        ("fe80::1", "fe80::1%ib0"),
        ("febf::1", "febf::1%ib0"),
        ("fec0::1", "fec0::1"),
        ("fd00::1", "fd00::1"),
        ("10.0.0.1", "10.0.0.1"),
        ("169.254.1.1", "169.254.1.1"),
    ],
)
def test_a_link_local_address_has_the_scope_of_our_interface(address, reached):
    assert from_here(address, "ib0") == reached


def test_a_sandbox_that_shows_no_interfaces_is_an_error(monkeypatch):
    def refused(_first):
        ctypes.set_errno(errno.EACCES)
        return -1

    libc = SimpleNamespace(getifaddrs=refused, freeifaddrs=lambda _first: None)
    monkeypatch.setattr(addresses.ctypes, "CDLL", lambda *_names, **_how: libc)
    with pytest.raises(
        UnavailableError, match=f"cannot list the network interfaces of this host: {os.strerror(errno.EACCES)}"
    ):
        local_addresses()
