# SPDX-License-Identifier: Apache-2.0
"""Trays of one NVLink domain are one node for NCCL: how many, and the machine that they make."""

import json
from dataclasses import replace

import pytest
from tests.cli.command import in_process

from railgauge.topo.compare.what_if import edited
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.predict.nvlink_domain import domain_nodes, joined
from railgauge.topo.predict.release import NEWEST

TRAY = "@gb200-tray"


def gpus(**changes):
    found = load_machine(TRAY).facts.gpus
    return tuple(replace(gpu, fabric=gpu.fabric._replace(**changes)) for gpu in found)


@pytest.mark.parametrize(("nodes", "domain"), [(1, 1), (2, 2), (18, 18), (20, 10), (36, 18), (19, 1)])
def test_a_domain_has_at_most_72_gpus_and_all_have_as_many(nodes, domain):
    assert domain_nodes(gpus(), nodes, NEWEST) == domain


def test_without_a_registered_fabric_there_is_none():
    assert domain_nodes(gpus(state=2), 18, NEWEST) == 1
    assert domain_nodes(gpus(cluster="0" * 32), 18, NEWEST) == 1
    assert domain_nodes((*gpus()[:3], *gpus(clique=7)[3:]), 18, NEWEST) == 1
    assert domain_nodes((), 18, NEWEST) == 1
    assert domain_nodes(load_machine("@dgx-h100").facts.gpus, 2, NEWEST) == 1
    assert domain_nodes(gpus(), 18, (2, 20, 5)) == 1


def test_each_tray_is_a_host_with_its_own_ranks_and_ports():
    one, whole = build_system(load_machine(TRAY).topology), build_system(joined(load_machine(TRAY).topology, 18))
    assert (len(whole.gpus), len(whole.nets)) == (72, 18 * len(one.nets))
    assert sorted(gpu.rank for gpu in whole.gpus) == list(range(72))
    assert len({gpu.system for gpu in whole.gpus}) == 18
    assert len({net.asic for net in whole.nets}) == len(whole.nets)


def test_a_narrow_link_is_narrow_in_each_tray():
    topology = edited(load_machine(TRAY).topology, ["mlx5_0.width=4"])
    one, three = build_system(topology), build_system(joined(topology, 3))
    assert one.slow
    assert len(three.slow) == 3 * len(one.slow)


def predicted(*arguments):
    done = in_process("graph", "predict", "--from", TRAY, "-b", "8G", "-e", "8G", "--json", *arguments)
    return json.loads(done.stdout)


def test_a_rack_reaches_what_is_published_and_its_nics_where_the_domain_is_off():
    rack = predicted("--nodes", "18")
    assert (rack["nodes"], rack["ranks"], rack["nvlink_domain"]) == (18, 72, 18)
    assert 800 < rack["rows"][0]["busbw_gb_per_s"] < 900
    off = predicted("--nodes", "18", "--set", "NCCL_MNNVL_ENABLE=0")
    assert (off["nodes"], off["ranks"], off["nvlink_domain"]) == (18, 72, 1)
    assert off["rows"][0]["busbw_gb_per_s"] < 210
