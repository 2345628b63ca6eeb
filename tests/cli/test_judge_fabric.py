# SPDX-License-Identifier: Apache-2.0
"""Tables judged beside a fabric: a slow cable, a miswired NIC, a shared uplink are causes where they limit the job."""

from dataclasses import replace
from functools import cache

import pytest
from tests.topo.jobs.judge.made import SIZES, table_of

from railgauge.cli.fabric.known import known_fabric
from railgauge.topo.channels.limiting_cable import LimitingCable
from railgauge.topo.fabric.breakage import broken
from railgauge.topo.fabric.make import FabricPlan, make_fabric
from railgauge.topo.findings.cards.fabric import CABLE_SLOW, LEAF_OVERSUBSCRIBED, RAIL_MISWIRED
from railgauge.topo.findings.cards.pcie import PCIE_LINK_DEGRADED
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.fabric.rules import findings
from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.judge.forecasts import Forecasts
from railgauge.topo.jobs.judge.job_fabric import JobFabric, explaining
from railgauge.topo.jobs.judge.judge import judge
from railgauge.topo.jobs.judge.measured_run import MeasuredRun
from railgauge.topo.jobs.tables.table import RankDevice
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.settings.algorithm import Collective

NODES = 8
THIN = FabricPlan(leaves=16, spines=1, rails=8, nodes=NODES, oversubscription=4)
"""Two leaves a rail with one uplink each: a ring in the order of nodes crosses it once."""
NAMES = tuple(THIN.node_names)
ALTERNATING = tuple(name for pair in zip(NAMES[:4], NAMES[4:], strict=True) for name in pair)


@cache
def machine():
    return load_machine("@dgx-h100")


@cache
def job_fabric(*faults):
    fabric = broken(make_fabric(THIN), faults).fabric
    return JobFabric(
        over=cache(lambda nodes: known_fabric(fabric, nodes)),
        nodes=fabric.nodes,
        findings=findings(ExaminedFabric(fabric=fabric)),
    )


def judged(on, collective=Collective.ALL_REDUCE, hosts=NAMES, beside=None):
    """A table as measured on a fabric, judged with it or with another one."""
    run = MeasuredRun(collective=collective, sizes=tuple(SIZES), nodes=NODES, hosts=hosts)
    forecasts = Forecasts(machine())
    curve = {row.size: 0.98 * row.busbw_gb_per_s for row in run.rows(on.plan(forecasts.plan(run), hosts))}
    devices = tuple(
        RankDevice(rank=8 * at, host=host, device=None, bus_id="", gpu="NVIDIA H100 80GB HBM3")
        for at, host in enumerate(hosts)
    )
    table = table_of(curve, machine(), NODES, collective, devices=devices)
    return judge(table, machine(), nodes=NODES, forecasts=Forecasts(machine(), beside or on))


@pytest.fixture(autouse=True)
def of_the_fabric_alone(request, monkeypatch):
    """Forecasts of all that can be wrong with a machine take seconds."""
    if request.function is not test_a_cable_that_is_slow_comes_before_what_may_be:
        monkeypatch.setattr("railgauge.topo.jobs.judge.forecasts.variants", lambda *_: iter(()))


def causes(found):
    return {one.cause.id: one.cause.what for one in found.causes}


def level(found):
    return next(one.level for one in found.findings if one.id == "number-low")


def test_a_job_in_order_is_not_limited_by_thin_uplinks():
    assert level(judged(job_fabric())) is Level.PASS


@pytest.mark.parametrize(
    ("faults", "hosts", "finding", "names"),
    [
        (("slow:gpu003/mlx5_2",), NAMES, CABLE_SLOW, "gpu003 mlx5_2"),
        (("swap:gpu001/mlx5_2,gpu005/mlx5_2",), NAMES, RAIL_MISWIRED, "leaf-r2-"),
        ((), ALTERNATING, LEAF_OVERSUBSCRIBED, "spine-0"),
    ],
)
def test_what_is_wrong_with_the_fabric_is_named(faults, hosts, finding, names):
    found = judged(job_fabric(*faults), hosts=hosts)
    assert level(found) is not Level.PASS
    assert names in causes(found)[finding.id]
    assert "of what a node sends" in causes(found)[finding.id]


def test_a_cable_that_is_slow_comes_before_what_may_be():
    found = judged(job_fabric("slow:gpu003/mlx5_2"))
    assert [one.cause.id for one in found.causes][:2] == [CABLE_SLOW.id, PCIE_LINK_DEGRADED.id]


def test_a_fabric_that_does_not_explain_the_number_is_no_cause():
    found = judged(job_fabric("slow:gpu003/mlx5_2"), beside=job_fabric())
    assert level(found) is not Level.PASS
    assert CABLE_SLOW.id not in causes(found)
    assert not any("cable of the fabric" in what for what in causes(found).values())


def test_messages_in_pairs_are_limited_by_cables():
    to_all = judged(job_fabric(), Collective.ALL_TO_ALL)
    assert "spine-0" in causes(to_all)[LEAF_OVERSUBSCRIBED.id]
    to_next = judged(job_fabric("slow:gpu003/mlx5_0"), Collective.SEND_RECV)
    assert "gpu003 mlx5_0" in causes(to_next)[CABLE_SLOW.id]


def test_of_cables_without_speed_the_leaves_limit():
    made = make_fabric(THIN)
    fabric = replace(made, cables=tuple(replace(one, gb_per_s=None) for one in made.cables))
    on = JobFabric(over=cache(lambda nodes: known_fabric(fabric, nodes)), nodes=fabric.nodes, findings=())
    found = judged(on, Collective.ALL_TO_ALL)
    assert "oversubscribed 4:1" in causes(found)[LEAF_OVERSUBSCRIBED.id]


def test_hosts_that_the_fabric_does_not_know_are_its_first_nodes():
    fabric = job_fabric()
    plan = Forecasts(machine()).plan(MeasuredRun(collective=Collective.ALL_REDUCE, sizes=(8,), nodes=NODES))
    assert fabric.plan(plan, ALTERNATING).fabric is fabric.over(ALTERNATING)
    assert fabric.plan(plan, NAMES[:-1]).fabric is fabric.over(())
    assert fabric.plan(plan, (*NAMES[:-1], "elsewhere")).fabric is fabric.over(())


def test_the_nearest_finding_explains_a_cable_and_of_these_the_gravest():
    cable = LimitingCable("leaf-0[1]", "spine-0[2]", 50.0, 0.5)
    by_design = LEAF_OVERSUBSCRIBED.finding(Level.INFO, "leaf-9", "", evidence={"leaves": ["leaf-0", "leaf-9"]})
    miswired = RAIL_MISWIRED.finding(Level.FAIL, "gpu0 mlx5_0", "", evidence={"port": "leaf-0[7]"})
    end = CABLE_SLOW.finding(Level.FAIL, "leaf-0[1]", "")
    itself = CABLE_SLOW.finding(Level.FAIL, "spine-0[2] - leaf-0[1]", "")
    sound = CABLE_SLOW.finding(Level.PASS, "leaf-0", "")
    far = CABLE_SLOW.finding(Level.FAIL, "leaf-00[1] - spine-1[2]", "")
    assert explaining(cable, [far, sound]) is None
    assert explaining(cable, [by_design, far]) is by_design
    assert explaining(cable, [by_design, miswired]) is miswired
    assert explaining(cable, [miswired, end]) is end
    assert explaining(cable, [end, itself]) is itself
