# SPDX-License-Identifier: Apache-2.0
"""The kernel's routes, asked by the address and the interface that a port has."""

import errno
import socket

import pytest

from railgauge.transports.ib import route
from railgauge.transports.ib.device import IbPort
from railgauge.transports.ib.route import route_error, why_unreached

NOWHERE = "192.0.2.1"  # RFC 5737
PORT = IbPort("rxe0", 1, "Ethernet", 1, "127.0.0.1", netdev="lo")


def test_what_there_is_a_route_to_is_reached():
    assert why_unreached(PORT, ["127.0.0.1", "127.0.0.2"]) is None


def test_a_route_by_another_interface_is_none():
    """Whether or not this machine has a default route: that does not go by lo."""
    assert route_error("127.0.0.1", NOWHERE, "lo") in (errno.ENETUNREACH, errno.EHOSTUNREACH)
    why = why_unreached(PORT, ["127.0.0.1", NOWHERE])
    assert why is not None
    assert why.startswith(f"rxe0:1 (127.0.0.1) has no route to {NOWHERE} through lo: ")


@pytest.mark.parametrize(("number", "said"), [(errno.ENETUNREACH, True), (errno.EINVAL, False), (0, False)])
def test_only_what_is_surely_no_way_is_named(monkeypatch, number, said):
    monkeypatch.setattr(route, "route_error", lambda *_: number)
    assert (why_unreached(PORT, [NOWHERE]) is not None) == said


def test_nothing_is_said_where_the_kernel_cannot_be_asked(monkeypatch):
    assert route_error("127.0.0.1", NOWHERE, "no-such-if") == 0

    def refused(*_args):
        raise OSError(errno.EPERM, "")

    monkeypatch.setattr(socket, "socket", refused)
    assert route_error("127.0.0.1", NOWHERE, "lo") == 0


def test_nothing_is_said_of_lids_and_ipv6_and_unknown_interfaces():
    assert why_unreached(PORT, ["fd00::1", "LID 7"]) is None
    assert why_unreached(IbPort("mlx5_0", 1, "InfiniBand", -1, "LID 3"), [NOWHERE]) is None
    assert why_unreached(IbPort("rxe0", 1, "Ethernet", 1, "127.0.0.1"), [NOWHERE]) is None
