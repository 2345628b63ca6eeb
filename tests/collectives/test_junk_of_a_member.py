# SPDX-License-Identifier: Apache-2.0
"""A rank sends JSON of another shape, deep within a value, to each of the exchanges of a run and of `link`: the others
end with a failed run (4) that names it, and never by an error of their own.
"""

import copy
import json
import random
import zlib
from dataclasses import replace

import pytest
from tests.transports.ranks import on_ranks

from railgauge.collectives import tune
from railgauge.collectives.bench import Bench, Ran
from railgauge.collectives.connect import connect
from railgauge.collectives.counters import Counters
from railgauge.collectives.document import boards_of, connections_of
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.link_result import LinkResult
from railgauge.collectives.link.measurement import measure
from railgauge.collectives.measure import Meter
from railgauge.collectives.plan import make_plan
from railgauge.collectives.record import gather
from railgauge.collectives.verification import Verification
from railgauge.topo.errors import described, status_of
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.group import Group
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.network import choose_network
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange

MOST = 12
"""Exchanges of one body that are spoiled; what follows comes again."""
JUNK = [None, "x", [[]], {"a": {}}, -1, 1.5, True]


class Timed(Bench):
    """Takes no time and finds nothing wrong."""

    def fill(self, case, pattern, *, in_place):
        pass

    def repeat(self, case, *, in_place, ahead=0, times=1):
        return 0.001

    def verify(self, case, pattern, kind, *, in_place):
        return Verification(kind)

    def ran(self, case):
        return Ran("ring", "simple", 1, 0.0)

    def floor_s(self, case, times):
        return 0.1


def runs(bootstrap, own_host=False):
    """All that a run exchanges on host memory; each rank on a host of its own as it says, or not."""
    log = NcclLog(bootstrap.rank, {})
    peer = this_peer(bootstrap.rank)
    peers = exchange(bootstrap, replace(peer, host_id=f"host-{bootstrap.rank}") if own_host else peer)
    network = choose_network(bootstrap, peers, log, always=True)
    plan = make_plan(bootstrap, peers, None, log, {}, network)
    comm = connect(bootstrap, peers, plan, network, log)
    comm.split(0).close()
    comm.empty(4)
    gather(bootstrap)
    connections_of(comm, bootstrap)
    boards_of(comm, bootstrap)
    Counters(bootstrap, peers, network).link_traffic({}, 0)
    job = JOB(collective=Collective.ALL_REDUCE)
    tune._slowest(bootstrap, [0.1, 0.2])
    Meter(Timed(bootstrap.rank, 2), bootstrap, job, lambda: None).row(64, Dtype.FLOAT, Redop.SUM, -1, seed=0)
    comm.close()


def runs_on_two_hosts(bootstrap):
    runs(bootstrap, own_host=True)


def links(bootstrap, **job):
    job = LinkJob(**{"bytes": 3000, "latency_bytes": 5, "iterations": 1, "timeout_s": 20.0} | job)
    measure(bootstrap, job, LinkResult(job=job), lambda _text: None)


def bisects(bootstrap):
    links(bootstrap, bisect=True)


class JOB:
    """What Meter asks of a job."""

    iterations, aggregate, warmup, check, average, cpu_time, fault = 1, 1, 0, 1, 1, False, None

    def __init__(self, collective):
        self.collective = collective


def spoiled(data: bytes, draw: random.Random) -> bytes:
    """The same value with one part of it, however deep, replaced by another form."""
    packed = data[:1] == b"\x78"
    value = json.loads(zlib.decompress(data) if packed else data)
    holder = [value]
    places = list(inner_places(holder))
    at, key = draw.choice(places)
    at[key] = copy.deepcopy(draw.choice([one for one in JUNK if type(one) is not type(at[key])]))
    told = json.dumps(holder[0]).encode()
    return zlib.compress(told) if packed else told


def inner_places(value):
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(one, list | dict):
            yield from inner_places(one)


def told_to_all(body):
    """The body, whose failure the others hear of at once."""

    def tells(bootstrap):
        try:
            body(bootstrap)
        except Exception as error:
            bootstrap.fail(described(error))
            raise

    return tells


class Exchanges:
    """Counts what one rank gives to exchanges, and spoils one of it."""

    def __init__(self, culprit, spoils=-1):
        self.culprit, self.spoils, self.count = culprit, spoils, 0
        self._honest = Group.all_gather_bytes

    def __enter__(self):
        def dishonest(group, value, limit_s=None):
            if group.world_rank == self.culprit and value:
                if self.count == self.spoils:
                    value = spoiled(value, random.Random(self.spoils))
                self.count += 1
            return self._honest(group, value, limit_s)

        Group.all_gather_bytes = dishonest
        return self

    def __exit__(self, *_):
        Group.all_gather_bytes = self._honest


@pytest.mark.parametrize("body", [runs, runs_on_two_hosts])
@pytest.mark.parametrize("ranks", [1, 3])
def test_nothing_is_junk_where_all_are_honest(monkeypatch, body, ranks):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("RAILGAUGE_TUNING_FILE", "/dev/null")
    assert on_ranks(ranks, body) == [None] * ranks


@pytest.mark.parametrize("body", [runs, runs_on_two_hosts, links, bisects])
@pytest.mark.parametrize("culprit", [0, 1])
def test_junk_within_a_value_is_blamed_on_its_sender(monkeypatch, body, culprit):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("RAILGAUGE_TUNING_FILE", "/dev/null")
    ranks, errors = 4 if body is bisects else 2, []
    with Exchanges(culprit) as exchanges:
        assert on_ranks(ranks, body) == [None] * ranks
    for which in range(min(exchanges.count, MOST)):
        with Exchanges(culprit, which):
            error = on_ranks(ranks, told_to_all(body))[1 - culprit]
        assert status_of(error) in (0, 4), (which, described(error))
        errors.append(str(error))
    named = [text for text in errors if f"rank {culprit} sent an unexpected value to an exchange" in text]
    assert len(named) >= len(errors) * 2 // 3, errors
