# SPDX-License-Identifier: Apache-2.0
"""The kernel's routes, asked by the address that a port has."""

import errno
import socket

import pytest

from railgauge.transports.ib.device import IbPort
from railgauge.transports.ib.route import why_unreached

PORT = IbPort("rxe0", 1, "Ethernet", 1, "127.0.0.1")


def test_what_there_is_a_route_to_is_reached():
    assert why_unreached(PORT, ["127.0.0.1", "127.0.0.2"]) is None


@pytest.mark.parametrize(("number", "words"), [(errno.ENETUNREACH, "Network is unreachable"), (errno.EINVAL, None)])
def test_what_there_is_none_to_is_named(monkeypatch, number, words):
    def refused(_sock, address):
        if address[0] == "192.0.2.1":
            raise OSError(number, "")

    monkeypatch.setattr(socket.socket, "connect", refused)
    why = why_unreached(PORT, ["127.0.0.1", "192.0.2.1"])
    assert (why and why.split(": are")[0]) == (words and f"rxe0:1 (127.0.0.1) has no way to 192.0.2.1: {words}")


def test_nothing_is_said_of_lids_and_ipv6():
    assert why_unreached(PORT, ["fd00::1", "LID 7"]) is None
    assert why_unreached(IbPort("mlx5_0", 1, "InfiniBand", -1, "LID 3"), ["192.0.2.1"]) is None
