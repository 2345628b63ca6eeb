# SPDX-License-Identifier: Apache-2.0
"""Sockets and helper threads of a connection are as many as NCCL has, within its limits."""

import pytest

from railgauge.transports import socket_threads as module
from railgauge.transports.socket_threads import SocketThreads, socket_threads


def settings(threads=None, each=None):
    given = {"NCCL_SOCKET_NTHREADS": threads, "NCCL_NSOCKS_PERTHREAD": each}
    return {name: value for name, value in given.items() if value is not None}


@pytest.mark.parametrize(
    ("environ", "sockets", "threads"),
    [
        ({}, 1, 0),
        (settings("2"), 2, 2),
        (settings("4", "4"), 16, 4),
        (settings("0x2", "3"), 6, 2),
        (settings(None, "8"), 1, 0),
        (settings("-1"), 1, 0),
        (settings("-2", "-2"), 1, 0),
        (settings("2", "0"), 2, 2),
        (settings("many"), 1, 0),
    ],
)
def test_what_is_asked_for(environ, sockets, threads):
    assert socket_threads("lo", environ) == SocketThreads(sockets, threads)


def test_more_than_the_limits_is_less_and_said():
    assert socket_threads("lo", settings("17")) == SocketThreads(
        16, 16, "NCCL_SOCKET_NTHREADS is greater than the maximum allowed, setting to 16"
    )
    got = socket_threads("lo", settings("16", "8"))
    assert (got.sockets, got.threads) == (64, 16)
    assert "setting NCCL_NSOCKS_PERTHREAD to 4" in got.note
    assert socket_threads("lo", settings("5", "100")).sockets == 60


@pytest.mark.parametrize(("vendor", "sockets", "threads"), [("0x1d0f", 16, 2), ("0x1ae0", 4, 4), ("0x15b3", 1, 0)])
def test_nics_of_clouds_have_more(vendor, sockets, threads, monkeypatch):
    monkeypatch.setattr(module, "_vendor", lambda interface: vendor)
    assert socket_threads("eth0", {}) == SocketThreads(sockets, threads)
    assert socket_threads("eth0", settings("1", "1")) == SocketThreads(1, 1)


@pytest.mark.parametrize(
    ("own", "receiver", "threads"),
    [((4, 2), 4, 2), ((4, 4), 6, 3), ((4, 4), 1, 1), ((1, 0), 8, 0), ((16, 8), 7, 7), ((2, 2), 5, 1)],
)
def test_a_sender_adapts_to_the_receivers_sockets(own, receiver, threads):
    assert SocketThreads(*own).with_sockets(receiver) == SocketThreads(receiver, threads)


def test_it_is_logged_as_nccl_does():
    assert str(SocketThreads(16, 2)) == "NET/Socket: Using 2 threads and 8 sockets per thread"
    assert str(SocketThreads(1, 0)) == "NET/Socket: Using 0 threads and 1 sockets per thread"
