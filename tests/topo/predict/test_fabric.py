# SPDX-License-Identifier: Apache-2.0
"""Leaves and spines: how many nodes a leaf holds, how many levels, what is left of the speed."""

import pytest

from railgauge.topo.errors import UsageError
from railgauge.topo.predict.fabric import Fabric, FabricKind


def test_a_rail_has_a_leaf_port_for_each_node_and_a_fat_tree_one_for_each_nic():
    assert Fabric(kind=FabricKind.RAIL).nodes_per_leaf(8, 1000) == 32
    assert Fabric(kind=FabricKind.FAT_TREE).nodes_per_leaf(8, 1000) == 4
    assert Fabric(kind=FabricKind.FLAT).nodes_per_leaf(8, 1000) == 1000


def test_oversubscription_gives_more_ports_to_nodes():
    assert Fabric(kind=FabricKind.RAIL, oversubscription=3).nodes_per_leaf(8, 1000) == 48


def test_levels_grow_when_ports_run_out():
    rail = Fabric(kind=FabricKind.RAIL)
    assert [rail.levels(8, nodes) for nodes in (2, 32, 33, 256, 257, 2048)] == [1, 1, 2, 2, 3, 3]
    assert Fabric().levels(8, 2048) == 1


def test_each_level_is_crossed_up_and_down():
    rail = Fabric(kind=FabricKind.RAIL, hop_us=0.5)
    assert [rail.far_us(8, nodes) for nodes in (32, 256, 2048)] == [0, 1.0, 2.0]


def test_spines_slow_only_what_is_more_than_they_have():
    fabric = Fabric(kind=FabricKind.FAT_TREE, oversubscription=4)
    assert fabric.spine_share(0) == 1
    assert fabric.spine_share(0.25) == 1
    assert fabric.spine_share(1) == 0.25


@pytest.mark.parametrize(
    "wrong", [{"oversubscription": 0.5}, {"oversubscription": float("nan")}, {"hop_us": -1}, {"radix": 2}]
)
def test_impossible_parameters_are_usage_errors(wrong):
    with pytest.raises(UsageError):
        Fabric(**wrong)
