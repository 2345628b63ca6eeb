# SPDX-License-Identifier: Apache-2.0
"""The load of all-to-all and of messages to the next node: as each message alone, and what a fabric's shape says."""

from itertools import permutations

import numpy as np
import pytest

from railgauge.topo.fabric.breakage import broken
from railgauge.topo.fabric.job_cables import JobCables
from railgauge.topo.fabric.make import FabricPlan, make_fabric
from railgauge.topo.fabric.pair_traffic import PairPattern, pair_load, usual_sent
from railgauge.topo.fabric.rails import find_rails
from railgauge.topo.fabric.routing import Routing
from railgauge.topo.fabric.traffic import job_nics

TWO = FabricPlan(leaves=4, spines=2, rails=2, nodes=12, oversubscription=3)
THREE = FabricPlan(leaves=8, spines=4, rails=2, nodes=16, pods=2, cores=2)
PER_NODE, NIC = 8, 50.0


def load(fabric, pattern, *, adaptive=False, nodes=None):
    job = job_nics(fabric, find_rails(fabric), list(nodes or fabric.nodes))
    return pair_load(Routing(fabric), job, usual_sent(job, pattern, PER_NODE), pattern, adaptive=adaptive)


def each_alone(fabric, *, adaptive):
    """Every message of an all-to-all, without a short cut."""
    routing, count = Routing(fabric), len(fabric.nodes)
    nics = list(zip(*(ones for ones in fabric.nodes.values()), strict=True))
    weight = PER_NODE / count / len(nics)
    carried = np.zeros(len(routing.ends))
    for ones in nics:
        sources, targets = map(list, zip(*permutations(ones, 2), strict=True))
        carried += routing.loads(sources, targets, np.full(len(sources), weight), adaptive=adaptive)
    return carried


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("plan", [TWO, THREE])
def test_all_to_all_loads_as_its_messages_one_by_one(plan, adaptive):
    fabric = broken(make_fabric(plan), ["cable:leaf-r0-0[7]"]).fabric
    assert np.allclose(
        load(fabric, PairPattern.ALL_TO_ALL, adaptive=adaptive).carried, each_alone(fabric, adaptive=adaptive)
    )


def test_all_to_all_is_limited_by_what_leaves_have_to_the_spines():
    sends = PER_NODE * 11 / 12
    beyond = 6 / 11  # of the eleven other nodes six are on the other leaf of a rail
    found = load(make_fabric(TWO), PairPattern.ALL_TO_ALL, adaptive=True)
    assert found.gb_per_s == pytest.approx(2 * NIC / sends / (3 * beyond))
    near = load(make_fabric(TWO), PairPattern.ALL_TO_ALL, adaptive=True, nodes=["gpu000", "gpu001"])
    assert near.gb_per_s == pytest.approx(2 * NIC / (PER_NODE / 2))


def test_the_next_node_is_reached_on_the_rail_of_its_first_rank():
    found = load(make_fabric(TWO), PairPattern.SEND_RECV)
    names = {found.routing.fabric.end_name(found.routing.ends[place]) for place in np.flatnonzero(found.carried)}
    assert not any("-r1-" in name or "mlx5_1" in name for name in names)
    assert found.gb_per_s == NIC
    mixed = [f"gpu{number:03d}" for pair in zip(range(6), range(6, 12), strict=True) for number in pair]
    assert load(make_fabric(TWO), PairPattern.SEND_RECV, adaptive=True, nodes=mixed).gb_per_s == pytest.approx(NIC / 3)


def limiting(fabric, count, sent, to_all):
    return JobCables(fabric, find_rails(fabric)).limiting_pairs(count, sent, to_all)


def test_the_cable_that_limits_messages_in_pairs():
    fabric = broken(make_fabric(FabricPlan(leaves=4, spines=4, rails=2, nodes=8)), ["slow:gpu003/mlx5_1"]).fabric
    found = limiting(fabric, 8, ((4, 1.0), (7, 1.0)), True)
    assert "gpu003 mlx5_1" in (found.source, found.target)
    assert (found.share, found.allows) == (pytest.approx(0.5), pytest.approx(NIC))
    assert limiting(fabric, 8, ((4, 1.0), (7, 0.0)), False).allows == pytest.approx(NIC)
    assert limiting(fabric, 8, ((4, 0.0), (7, 1.0)), False).allows == pytest.approx(NIC / 2)
    assert limiting(fabric, 3, ((4, 1.0), (7, 1.0)), True).allows == pytest.approx(2 * NIC)


@pytest.mark.parametrize("change", [(9, ((0, 1.0),)), (1, ((0, 1.0),)), (8, ((0, 1.0), (1, 1.0), (2, 1.0)))])
def test_what_the_files_do_not_have_is_unknown(change):
    assert limiting(make_fabric(FabricPlan(leaves=4, spines=4, rails=2, nodes=8)), *change, True) is None
