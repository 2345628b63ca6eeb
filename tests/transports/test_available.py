# SPDX-License-Identifier: Apache-2.0
"""Transports are found by trying them; what is missing is said."""

import os

import pytest

from railgauge.topo.errors import UnavailableError
from railgauge.transports import available as module
from railgauge.transports.available import NAMES, available

LOOPBACK = {"NCCL_SOCKET_IFNAME": "lo"}


def found(environ=LOOPBACK):
    return {one.name: one for one in available(environ)}


def test_all_of_nccls_transports_are_told_of():
    assert [one.name for one in available(LOOPBACK)] == list(NAMES)


def test_shared_memory_and_the_interface_work_here():
    assert found()["SHM"].why_not is None
    assert found()["NET/Socket"].why_not is None
    assert found()["NET/Socket"].by == ("NET/Socket/0 over lo:127.0.0.1<0>",)


def test_what_the_settings_leave_out_is_missing():
    off = found({"NCCL_SHM_DISABLE": "1", "NCCL_SOCKET_IFNAME": "nothing7"})
    assert "NCCL_SHM_DISABLE" in off["SHM"].why_not
    assert "NCCL_SOCKET_IFNAME=nothing7 matches no interface" in off["NET/Socket"].why_not


def test_memory_that_another_process_cannot_open_is_missing(monkeypatch):
    def refused(_peer, _doorbell, _descriptor):
        raise UnavailableError("cannot open /proc/7/fd/3: Permission denied")

    monkeypatch.setattr(module.native, "ShmSender", refused)
    assert found()["SHM"].why_not == "cannot open /proc/7/fd/3: Permission denied"


def test_a_process_that_says_nothing_has_opened_nothing(monkeypatch):
    monkeypatch.setattr(module.native, "ShmSender", lambda *_: os._exit(7))
    assert "ended with status 7" in found()["SHM"].why_not


def test_memory_that_cannot_be_had_is_missing(monkeypatch):
    def refused(*_):
        raise UnavailableError("memfd_create: Operation not permitted")

    monkeypatch.setattr(module.native, "ShmReceiver", refused)
    assert "memfd_create" in found()["SHM"].why_not


@pytest.mark.parametrize(
    ("gpus", "why_not"),
    [
        ((), "this machine has no NVIDIA GPU"),
        (("0000:1b:00.0",), "this machine has 1 NVIDIA GPU"),
        (("0000:1b:00.0", "0000:1c:00.0"), None),
    ],
)
def test_p2p_takes_two_gpus(monkeypatch, gpus, why_not):
    monkeypatch.setattr(module, "gpu_bus_ids", lambda _reader: gpus)
    assert found()["P2P"].why_not == why_not
    assert "no RDMA device" in found()["NET/IB"].why_not
