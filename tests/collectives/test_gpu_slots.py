# SPDX-License-Identifier: Apache-2.0
"""Slots of staging buffers between nodes: in GPU memory if NCCL would use it and the NIC accepts it, else on the
host."""

from types import SimpleNamespace

import pytest

from railgauge._native import transports
from railgauge.collectives.gpu_slots import Slots
from railgauge.collectives.node import Direct
from railgauge.transports.select import NET_IB
from railgauge.transports.wire import Wire

HOST, GPU, BYTES = 0x1000, 0x9000, 64
OUT, IN = Wire(0, 0, 1, (2, 5), NET_IB), Wire(0, 1, 0, (5, 2), NET_IB)
"""Rank 0, by its NIC 2, to rank 1 and back."""


class Engine:
    """Says where slots lie."""

    def __init__(self):
        self.in_gpu = {}

    def slots(self, peer, incoming):
        return (GPU if self.in_gpu.get((peer, incoming)) else HOST) + incoming, BYTES

    def move_slots(self, peer, incoming, to_gpu):
        self.in_gpu[peer, incoming] = to_gpu


class Nics:
    """What is registered with the NICs of a proxy; GPU memory is not, where `refuses` is set."""

    def __init__(self, refuses=False):
        self.known, self.refuses = [], refuses
        self.proxy = SimpleNamespace(register=self.register, deregister=self.deregister)

    def register(self, address, size, remote_write=False):
        self.known.append((address, size, remote_write))

    def deregister(self, address, size):
        self.known = [one for one in self.known if one[:2] != (address, size)]


@pytest.fixture
def placed(monkeypatch):
    """`placed(direct, proxies)`: slots that are placed, and their engine."""

    def register(proxy, device, address, size, *, remote_write, dma_buf):
        nics = proxy.register.__self__
        if nics.refuses:
            return [SimpleNamespace(how=how, error=f"{how} failed") for how in ("DMA-BUF", "peer memory")]
        proxy.register(address, size, remote_write)
        return [SimpleNamespace(how="DMA-BUF", error="")]

    def place(direct, *proxies):
        engine = Engine()
        slots = Slots(engine, 0, 0, [(SimpleNamespace(ib=nics), {OUT: None, IN: None}) for nics in proxies], direct)
        slots.place()
        return slots, engine

    monkeypatch.setattr(transports, "register_gpu_memory", register)
    return place


def test_both_ways_lie_in_the_gpu_and_are_registered_on_all_lanes(placed):
    proxies = Nics(), Nics()
    slots, _ = placed([Direct(2, True, True, False)], *proxies)
    assert slots.by_gdr(OUT)
    assert slots.by_gdr(IN)
    assert [nics.known for nics in proxies] == [[(GPU, BYTES, False), (GPU + 1, BYTES, True)]] * 2
    slots.close()
    assert [nics.known for nics in proxies] == [[], []]


def test_each_way_is_decided_by_itself(placed):
    nics = Nics()
    slots, _ = placed([Direct(2, False, True, False)], nics)
    assert (slots.by_gdr(OUT), slots.by_gdr(IN)) == (False, True)
    assert nics.known == [(HOST, BYTES, False), (GPU + 1, BYTES, True)]


def test_a_nic_that_nccl_would_not_use_it_with_goes_by_the_host(placed):
    slots, _ = placed([Direct(5, True, True, False)], Nics())
    assert not slots.by_gdr(OUT)
    assert not slots.by_gdr(IN)


def test_a_nic_that_refuses_goes_by_the_host_and_is_named_once(placed, capsys):
    proxies = Nics(), Nics(refuses=True)
    slots, engine = placed([Direct(2, True, True, False)], *proxies)
    assert not slots.by_gdr(OUT)
    assert not slots.by_gdr(IN)
    assert not any(engine.in_gpu.values())
    assert [nics.known for nics in proxies] == [[(HOST, BYTES, False), (HOST + 1, BYTES, True)]] * 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "railgauge: rank 0: NET/IB/2 cannot register GPU memory, data goes through the host: DMA-BUF: "
    )
    assert "peer memory failed" in line
