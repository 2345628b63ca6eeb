# SPDX-License-Identifier: Apache-2.0
"""NCCL's search is made once for all settings that it does not read, and each plan is that of its settings."""

import pytest

from railgauge.topo.jobs.judge import plans
from railgauge.topo.machine import load_machine
from railgauge.topo.predict.planned import planned

MACHINE = load_machine("@dgx-h100")
SETTINGS = [
    ({}, 1),
    ({"NCCL_MAX_NCHANNELS": "2"}, 1),
    ({"NCCL_NVLS_ENABLE": "0", "NCCL_PAT_ENABLE": "0"}, 1),
    ({"NCCL_P2P_DISABLE": "1"}, 2),
    ({"NCCL_NET_GDR_LEVEL": "LOC"}, 3),
    ({"NCCL_CROSS_NIC": "0"}, 4),
]


def test_each_plan_is_that_of_its_settings_and_the_search_is_shared(monkeypatch):
    searches = []

    def counted(*args):
        searches.append(args)
        return planned(*args)

    monkeypatch.setattr(plans, "planned", counted)
    found = plans.Plans()
    for settings, count in SETTINGS:
        plan = found.plan(MACHINE, 2, settings, (2, 28, 9))
        own = planned(MACHINE, 2, settings, (2, 28, 9))
        assert (plan.steering, plan.release) == (own.steering, own.release)
        assert plan.graphs.ring.channels == own.graphs.ring.channels
        assert len(searches) == count, settings


@pytest.mark.parametrize(("release", "nodes"), [((2, 20, 5), 2), ((2, 21, 5), 1)])
def test_an_nvlink_domain_is_one_node_from_its_release_on(release, nodes):
    machine, found = load_machine("@gb200-tray"), plans.Plans()
    found.plan(machine, 2, {}, (2, 30, 7) if nodes == 2 else (2, 20, 5))
    assert found.plan(machine, 2, {}, release).nodes == nodes
