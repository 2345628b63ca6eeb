# SPDX-License-Identifier: Apache-2.0
"""Predictions of ranks on host memory."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.collectives.cost.host_forecast import host_rows
from railgauge.topo.errors import UnavailableError
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.predict.forecast import forecast, nccl_rows
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.search import search

ANY = read_allowed({})
RING = read_allowed({"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"})
LARGE = 1 << 30
COLLECTIVES = st.sampled_from(list(Collective))


def rows(where, *sizes, collective=Collective.ALL_REDUCE, allowed=ANY):
    return forecast(where, collective, sizes, allowed, host_rows).rows


def host_plan(name="@intel-2s", ranks=4, nodes=1):
    system = build_system(load_machine(name).topology, host_ranks=ranks)
    return NodePlan(system=system, table=paths(system), graphs=search(system, nodes=nodes), nodes=nodes)


HOSTS = {nodes: host_plan(nodes=nodes) for nodes in (1, 2, 5)}


def test_host_ranks_of_one_node_take_turns_on_its_cores():
    small, large = rows(host_plan(), 8, LARGE)
    assert (small.algorithm, small.limit.by, small.limit.what) == ("one-shot", "latency", "one step")
    assert (large.algorithm, large.limit.by, large.limit.device) == ("two-shot", "bandwidth", "cores")
    cores = sum(len(rank.cpus) for rank in host_plan().system.ranks)
    (crowded,) = rows(host_plan(ranks=2 * cores), LARGE)
    assert crowded.limit.what.endswith("a core, which 2 ranks share")


def test_host_ranks_of_several_nodes_have_rings_and_trees_and_the_planned_bandwidth():
    where = host_plan("@laptop", ranks=2, nodes=4)
    small, large = rows(where, 8, LARGE)
    assert (small.algorithm, small.limit.by, small.channels) == ("recursive_doubling", "latency", 1)
    assert large.limit.device == "NIC0"
    # Of 2 ranks on a node each has its half to take across: 3/2 of the data leave a node, of a ring's 8 ranks 7/4.
    assert large.algorithm == "hierarchical"
    total = where.graphs.ring.total(4)
    assert total < large.busbw_gb_per_s < total * (7 / 4) / (3 / 2)
    (ring,) = rows(where, LARGE, allowed=RING)
    assert ring.busbw_gb_per_s == pytest.approx(where.graphs.ring.total(4), rel=0.01)
    assert ring.channels == len(where.graphs.ring.channels)
    (pairs,) = rows(where, 8, collective=Collective.ALL_TO_ALL)
    assert pairs.algorithm == "pairs"


@settings(deadline=None)
@given(COLLECTIVES, st.sampled_from([1, 2, 5]), st.integers(0, 1 << 34))
def test_rows_of_host_ranks_follow_from_their_times(collective, nodes, size):
    where = HOSTS[nodes]
    (row,) = rows(where, size, collective=collective)
    assert row.time_us > 0
    assert row.busbw_gb_per_s == pytest.approx(size / row.time_us / 1e3 * collective.factor(where.ranks))
    assert row.limit.by == ("latency" if row.cost.latency_us > row.cost.transfer_us else "bandwidth")


def test_nccl_has_no_ranks_on_host_memory():
    with pytest.raises(UnavailableError, match="host memory"):
        forecast(host_plan(), Collective.ALL_REDUCE, [LARGE], ANY, nccl_rows)
