# SPDX-License-Identifier: Apache-2.0
"""Measuring the algorithms: all that can run are timed, and all ranks get the same times."""

import pytest
from tests.collectives.hosts import on_hosts
from tests.transports.ranks import on_ranks

from railgauge.collectives.plan import make_plan
from railgauge.collectives.tune import tune
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.peer import this_peer
from railgauge.transports.peers import exchange


@pytest.mark.parametrize("ranks", [2, 3])
def test_everything_that_can_run_is_timed_and_all_ranks_know_it(ranks):
    collectives = (Collective.ALL_REDUCE, Collective.ALL_TO_ALL)
    said = []

    def body(bootstrap):
        peers = exchange(bootstrap, this_peer(bootstrap.rank))
        plan = make_plan(bootstrap, peers, None, NcclLog(bootstrap.rank))
        say = said.append if bootstrap.rank == 0 else lambda _line: None
        return tune(bootstrap, peers, plan, collectives, (8, 4096), say)

    first, *others = on_ranks(ranks, body)
    assert others == [first] * (ranks - 1)
    assert all(timed.time_us > 0 for timed in first)
    assert {(timed.collective, timed.algorithm) for timed in first if timed.bytes > 8} == {
        ("all_reduce", "one-shot"),
        ("all_reduce", "two-shot"),
        ("all_reduce", "ring"),
        ("all_reduce", "tree"),
        ("alltoall", "one-shot"),
        ("alltoall", "pairs"),
    }
    assert {timed.bytes for timed in first if timed.collective == "all_reduce"} == {8, 4096}
    assert len(said) == 3  # 8 bytes are no part for each rank of an all-to-all


def test_between_hosts_too(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")

    def body(bootstrap):
        peers = on_hosts(bootstrap, [[0, 1], [2, 3]])
        plan = make_plan(bootstrap, peers, None, NcclLog(bootstrap.rank))
        return tune(bootstrap, peers, plan, [Collective.ALL_REDUCE, Collective.BROADCAST], (4096,))

    first, *others = on_ranks(4, body)
    assert others == [first] * 3
    assert {(timed.collective, timed.algorithm) for timed in first} == {
        ("all_reduce", "ring"),
        ("all_reduce", "tree"),
        ("all_reduce", "recursive_doubling"),
        ("all_reduce", "recursive_halving"),
        ("all_reduce", "hierarchical"),
        ("broadcast", "ring"),
        ("broadcast", "recursive_doubling"),
        ("broadcast", "hierarchical"),
    }
