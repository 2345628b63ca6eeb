# SPDX-License-Identifier: Apache-2.0
"""Debian's slurmctld reads the exported topology.conf; its `scontrol show topology` has the same sets of nodes."""

import os
import shutil
import time

import pytest
from tests.hosts.netns import make_hosts
from tests.hosts.slurm import CONFIGURATION
from tests.patience import HANGS_AFTER_S

from railgauge.topo.fabric.export import scheduler_tree, topology_conf
from railgauge.topo.fabric.make import FabricPlan, make_fabric
from railgauge.topo.fabric.places import find_places
from railgauge.topo.fabric.rails import find_rails
from railgauge.topo.fabric.read import read_fabric

PLAN = FabricPlan(leaves=8, spines=4, rails=2, nodes=10)


def tree(fabric):
    return scheduler_tree(fabric, find_places(fabric, find_rails(fabric)))


def sets(fabric):
    return {frozenset(one.nodes) for one in tree(fabric) if one.nodes}


def test_slurm_has_the_same_sets_of_nodes(tmp_path):
    if shutil.which("slurmctld") is None:
        pytest.skip("no Slurm: slurmctld is not installed")
    fabric = make_fabric(PLAN)
    (tmp_path / "topology.conf").write_text(topology_conf(tree(fabric)))
    (tmp_path / "state").mkdir()
    with make_hosts(1) as hosts:
        text = CONFIGURATION.format(controller=hosts.names[0], address=hosts.addresses[0], folder=tmp_path)
        nodes = "".join(f"NodeName={node} NodeAddr={hosts.addresses[0]} CPUs=1\n" for node in PLAN.node_names)
        (tmp_path / "slurm.conf").write_text(f"{text}{nodes}TopologyPlugin=topology/tree\n")
        environ = os.environ | {"SLURM_CONF": str(tmp_path / "slurm.conf")}
        with (tmp_path / "log").open("wb") as log:
            hosts.start(0, ["slurmctld", "-D", "-c"], env=environ, stdout=log, stderr=log)
            deadline, shown = time.monotonic() + HANGS_AFTER_S, ""
            while "SwitchName" not in shown:
                assert time.monotonic() < deadline, (tmp_path / "log").read_text()[-2000:]
                shown = hosts.run(0, ["scontrol", "show", "topology"], env=environ).stdout
                time.sleep(0.1)
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "scontrol.txt").write_text(shown)
    again = read_fabric([str(tmp_path / "shown")])
    assert sets(again) == sets(fabric) == sets(read_fabric([str(tmp_path / "topology.conf")]))
    assert {one.name for one in tree(again)} == {one.name for one in tree(fabric)}
