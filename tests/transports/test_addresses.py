# SPDX-License-Identifier: Apache-2.0
"""How addresses are written, and reached from here."""

import pytest

from railgauge.transports.addresses import from_here, host_and_port


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
