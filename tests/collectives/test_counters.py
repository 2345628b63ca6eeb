# SPDX-License-Identifier: Apache-2.0
"""Counters of a host are read around what its ranks move, and once more where drivers count late."""

import json
from types import SimpleNamespace

import pytest
from tests.topo.findings.traffic.links import link

from railgauge.collectives import counters
from railgauge.collectives.counters import Counters
from railgauge.topo.findings.finding import Level
from railgauge.transports.peer import this_peer
from railgauge.transports.typed import jsonable, read_as
from railgauge.transports.wire import Wire

MB = 1_000_000
OUT, INTO = Wire(0, 0, 1, (1, 0)), Wire(0, 1, 0, (0, 1))


class Alone:
    """A group of one rank."""

    rank = world_rank = 0
    job = SimpleNamespace(timeout_s=1.0)

    def all_gather(self, value, kind, limit_s=None):
        return [read_as(kind, json.loads(json.dumps(value, default=jsonable)))]

    def all_gather_bytes(self, value, limit_s=None):
        return [value]


@pytest.fixture
def readings(monkeypatch):
    """Sets what is read, one after another, the last one for ever."""

    def be(*each):
        left = list(each)
        monkeypatch.setattr(counters, "_read", lambda: left.pop(0) if len(left) > 1 else left[0])
        monkeypatch.setattr(counters, "AGAIN_S", 0.0)
        monkeypatch.setattr(counters, "SETTLED_S", 0.2)
        return left

    return be


def link_traffic(ends, shown=0):
    made = Counters(Alone(), [this_peer(0)])
    made._interfaces = ["eth0", "eth1"]
    return made.link_traffic(ends, shown)


def moved(size):
    return SimpleNamespace(bytes=size)


def test_a_connection_is_planned_on_the_interface_of_its_end_here(readings):
    readings((link("eth1", 1, 1, 1),), (link("eth1", 5 * MB, 9 * MB, 1),))
    sent, received, shared = link_traffic({OUT: moved(4 * MB), INTO: moved(8 * MB), Wire(1, 0, 1, None): moved(7)}, 5)
    assert (sent.link, sent.way, sent.planned_bytes, sent.level) == ("eth1", "sent", 4 * MB, Level.PASS)
    assert (received.link, received.way, received.planned_bytes) == ("eth1", "received", 8 * MB)
    assert (shared.link, shared.planned_bytes, shared.level) == ("shared memory", 12, Level.UNKNOWN)


def test_counters_that_come_late_are_read_again(readings):
    late = (link("eth1", 2 * MB, 1, 1),)
    left = readings((link("eth1", 1, 1, 1),), late, late, (link("eth1", 5 * MB, 1, 1),))
    assert [one.level for one in link_traffic({OUT: moved(4 * MB)})] == [Level.PASS]
    assert len(left) == 1


def test_bytes_that_never_come_are_not_waited_for_without_end(readings):
    readings((link("eth1", 1, 1, 1),), (link("eth1", 2 * MB, 1, 1),))
    assert [one.level for one in link_traffic({OUT: moved(4 * MB)})] == [Level.UNKNOWN]
