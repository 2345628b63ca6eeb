# SPDX-License-Identifier: Apache-2.0
"""Which cable limits a job: the slow one, the shared uplink, or none beside the NICs themselves."""

from dataclasses import replace

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.fabric.breakage import broken
from railgauge.topo.fabric.job_cables import JobCables
from railgauge.topo.fabric.make import FabricPlan, make_fabric
from railgauge.topo.fabric.rails import find_rails

RAILS = 2
NETS = tuple((dev, dev) for dev in range(RAILS))
NIC = 50.0


def limiting(fabric, count=8, nets=NETS, trees=False, nodes=()):
    return JobCables(fabric, find_rails(fabric), nodes).limiting(count, nets, trees)


def made(*faults, **shape):
    plan = FabricPlan(**({"leaves": 4, "spines": 4, "rails": RAILS, "nodes": 8} | shape))
    return broken(make_fabric(plan), faults).fabric


@pytest.mark.parametrize("trees", [False, True])
def test_a_sound_fabric_limits_no_more_than_the_nics(trees):
    assert limiting(made(), trees=trees).allows == pytest.approx(RAILS * NIC)


@pytest.mark.parametrize("trees", [False, True])
def test_a_slow_cable_is_named_and_halves_what_a_node_sends(trees):
    found = limiting(made("slow:gpu003/mlx5_1"), trees=trees)
    assert "gpu003 mlx5_1" in (found.source, found.target)
    assert (found.gb_per_s, found.allows) == (NIC / 2, pytest.approx(RAILS * NIC / 2))


def test_cables_that_a_job_does_not_take_are_no_limit():
    assert limiting(made("slow:gpu007/mlx5_1"), count=3).allows == pytest.approx(RAILS * NIC)
    assert "gpu007" in limiting(made("slow:gpu007/mlx5_1"), count=3, nodes=("gpu007", "gpu001", "gpu002")).source


ALTERNATING = ("gpu000", "gpu004", "gpu001", "gpu005", "gpu002", "gpu006", "gpu003", "gpu007")


def test_messages_take_the_routes_that_are_known():
    fabric = made("routes:leaf-r0-0[5]")
    found = limiting(fabric, nodes=ALTERNATING)
    assert (found.source, found.share) == ("leaf-r0-0[5]", pytest.approx(4 / RAILS))
    assert limiting(replace(fabric, routes=None), nodes=ALTERNATING).allows == pytest.approx(RAILS * NIC)


def test_nodes_that_alternate_between_leaves_share_the_uplinks():
    found = limiting(made(spines=1, oversubscription=4), nodes=ALTERNATING)
    assert (found.source[:5], found.target[:5]) in (("leaf-", "spine"), ("spine", "leaf-"))
    assert found.share == pytest.approx(4 / RAILS)  # four nodes of a leaf, each with a half of its bytes
    assert found.allows == pytest.approx(NIC * RAILS / 4)


def test_channels_that_change_rail_cross_the_spines():
    crossing = limiting(made(spines=1, oversubscription=4), nets=((0, 1), (1, 0)))
    assert crossing.allows < limiting(made(spines=1, oversubscription=4)).allows


@pytest.mark.parametrize("change", [{"count": 9}, {"nets": ((0, 0), (1, 1), (2, 2))}, {"count": 1}])
def test_what_the_files_do_not_have_is_unknown(change):
    assert limiting(made(), **change) is None


def test_a_cable_without_speed_makes_it_unknown():
    fabric = made()
    cables = tuple(replace(one, gb_per_s=None) for one in fabric.cables)
    assert limiting(replace(fabric, cables=cables)) is None


def test_nodes_without_a_path_are_an_error():
    fabric = replace(made(separate=True), routes=None)
    words = r"no path between gpu\d+ mlx5_\d and gpu\d+ mlx5_\d: they are on separate networks"
    with pytest.raises(InputError, match=words):
        limiting(fabric, nets=((0, 1), (1, 0)))
