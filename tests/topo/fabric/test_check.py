# SPDX-License-Identifier: Apache-2.0
"""A fault put into a made fabric is the one that is found, by name; a sound fabric has none."""

import random

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.fabric.breakage import broken
from railgauge.topo.fabric.hca_list import hca_lists
from railgauge.topo.fabric.made_files import dump_fts_text, ibnetdiscover_text, ibqueryerrors_text
from railgauge.topo.fabric.make import FabricPlan, make_fabric
from railgauge.topo.fabric.measured import shape_of
from railgauge.topo.fabric.rails import find_rails
from railgauge.topo.fabric.read import read_fabric
from railgauge.topo.findings.fabric.examined import ExaminedFabric
from railgauge.topo.findings.fabric.rules import RULES, findings
from railgauge.topo.findings.finding import Level

PLANS = (
    FabricPlan(leaves=8, spines=4, rails=4, nodes=32),
    FabricPlan(leaves=8, spines=8, rails=4, nodes=16, separate=True),
    FabricPlan(leaves=9, spines=3, rails=3, nodes=27, storage=2),
    FabricPlan(leaves=6, spines=2, rails=2, nodes=24, oversubscription=2),
    FabricPlan(leaves=12, spines=8, rails=2, nodes=24, pods=2, cores=2),
)
PER_KIND = 7
BAD = (Level.WARN, Level.FAIL)


def found(folder, plan, *faults):
    """What a check says of the files that the fabric's tools would have written."""
    made = broken(make_fabric(plan), faults)
    (folder / "ib.txt").write_text(ibnetdiscover_text(made.fabric, made.twins))
    (folder / "errors.txt").write_text(ibqueryerrors_text(made.fabric))
    (folder / "routes.txt").write_text(dump_fts_text(made.fabric) if made.fabric.routes else "")
    return findings(ExaminedFabric(fabric=read_fabric([str(folder)])))


def bad(ones):
    return [one for one in ones if one.level in BAD]


@pytest.mark.parametrize("plan", PLANS)
def test_a_sound_fabric_has_no_finding(tmp_path, plan):
    ones = found(tmp_path, plan)
    assert bad(ones) == []
    assert {one.id for one in ones if one.level is Level.UNKNOWN} == {"storage-in-hca-list"}
    by_design = [one for one in ones if one.level is Level.INFO]
    assert bool(by_design) == (plan.oversubscription > 1)


def planted(kind, plan, rng):
    """A fault of a kind, the id that it is found by, and what its finding has to name."""
    fabric = make_fabric(plan)
    leaf = f"leaf-r{rng.randrange(plan.rails)}-{rng.randrange(plan.leaves_of_rail)}"
    uplink = f"{leaf}[{plan.nodes_per_leaf + 1 + rng.randrange(plan.uplinks)}]"
    node, rail = rng.randrange(plan.nodes), rng.randrange(plan.rails)
    nic = f"gpu{node:03d}/mlx5_{rail}"
    if kind == "swap":
        other = (node + plan.nodes_per_leaf) % plan.nodes
        return (
            f"swap:{nic},gpu{other:03d}/mlx5_{rail}",
            "rail-miswired",
            {nic.replace("/", " "), f"gpu{other:03d} mlx5_{rail}"},
        )
    if kind == "swap rails":
        other = (rail + 1) % plan.rails
        return (
            f"swap:{nic},gpu{node:03d}/mlx5_{other}",
            "rail-miswired",
            {nic.replace("/", " "), f"gpu{node:03d} mlx5_{other}"},
        )
    if kind == "uplink":
        return f"cable:{uplink}", "uplink-missing", {uplink}
    if kind == "slow":
        end = rng.choice([nic, uplink])
        cable = next(c for c in fabric.cables if end.replace("/", " ") in map(fabric.end_name, c.ends))
        return f"slow:{end}", "cable-slow", {fabric.cable_name(cable)}
    if kind == "errors":
        end = rng.choice([nic, uplink])
        return f"errors:{end}", "cable-errors", {end.replace("/", " ")}
    if kind == "node":
        return f"cable:{nic}", "node-without-rail", {f"gpu{node:03d}"}
    if kind == "routes":
        return f"routes:{uplink}", "routes-unbalanced", {uplink}
    return "manager", "subnet-manager-missing", {"fabric"}


KINDS = ("swap", "swap rails", "uplink", "slow", "errors", "node", "routes", "manager")


@pytest.mark.parametrize("kind", KINDS)
def test_one_planted_fault_is_the_one_that_is_named(tmp_path, kind):
    rng = random.Random(kind)
    for number in range(1 if kind == "manager" else PER_KIND):
        plan = PLANS[number % len(PLANS)]
        fault, identifier, subjects = planted(kind, plan, rng)
        folder = tmp_path / str(number)
        folder.mkdir()
        ones = bad(found(folder, plan, fault))
        assert {(one.id, one.subject) for one in ones} == {(identifier, subject) for subject in subjects}, fault


def test_a_miswired_port_is_sent_where_it_belongs(tmp_path):
    ones = bad(found(tmp_path, PLANS[0], "swap:gpu003/mlx5_1,gpu017/mlx5_1"))
    assert {one.subject: one.evidence["belongs_to"] for one in ones} == {
        "gpu003 mlx5_1": "leaf-r1-0",
        "gpu017 mlx5_1": "leaf-r1-1",
    }


@pytest.mark.parametrize("pair", [(0, 1), (3, 8), (20, 5)])
def test_a_guid_that_two_nics_have(tmp_path, pair):
    one, other = (f"gpu{number:03d}" for number in pair)
    ones = bad(found(tmp_path, PLANS[0], f"guid:{one}/mlx5_2,{other}/mlx5_2"))
    assert {each.id for each in ones} == {"guid-duplicate"}
    assert all(name in " ".join(ones[0].evidence["devices"]) for name in (one, other))


def test_a_leaf_with_more_nodes_than_the_others(tmp_path):
    plan = FabricPlan(leaves=8, spines=4, rails=2, nodes=13)  # four nodes on three leaves of a rail, one on the last
    ones = found(tmp_path, plan)
    assert bad(ones) == []
    made = make_fabric(FabricPlan(leaves=8, spines=2, rails=2, nodes=16))
    assert bad(findings(ExaminedFabric(fabric=made))) == []


def test_the_design_that_oversubscribes_is_said(tmp_path):
    ones = [one for one in found(tmp_path, PLANS[3]) if one.id == "leaf-oversubscribed"]
    assert {one.level for one in ones} == {Level.INFO}
    assert all(one.evidence["ratio"] == 2.0 for one in ones)


def test_ports_without_description_do_not_make_a_rail_one_for_storage(tmp_path):
    text = ibnetdiscover_text(make_fabric(PLANS[0]))
    for number in range(0, 32, 4):
        text = text.replace(f'"gpu{number:03d} mlx5_1"', '"MT4129 ConnectX7 Mellanox"')
    (tmp_path / "ib.txt").write_text(text)
    rails = ExaminedFabric(fabric=read_fabric([str(tmp_path)])).rails
    assert [rail.number for rail in rails.compute] == [0, 1, 2, 3]


def test_against_an_earlier_state():
    before = make_fabric(PLANS[0])
    now = broken(before, ["cable:gpu003/mlx5_1", "slow:leaf-r0-0[17]", "swap:gpu001/mlx5_0,gpu020/mlx5_0"]).fabric
    ones = [
        one
        for one in findings(ExaminedFabric(fabric=now, against=before))
        if one.id == "expected-differs" and one in bad([one])
    ]
    changes = sorted(one.evidence["change"] for one in ones)
    assert changes.count("gone") == 1
    assert changes.count("slower") == 1
    assert "moved" in changes
    same = findings(ExaminedFabric(fabric=before, against=make_fabric(PLANS[0])))
    assert [one.level for one in same if one.id == "expected-differs"] == [Level.PASS]


def test_without_a_baseline_nothing_is_compared():
    ones = findings(ExaminedFabric(fabric=make_fabric(PLANS[0])))
    assert {one.id for one in ones} == {rule.id for rule in RULES} - {"expected-differs"}


def test_what_files_do_not_hold_is_unknown(tmp_path):
    (tmp_path / "ib.txt").write_text(ibnetdiscover_text(make_fabric(PLANS[0])))
    ones = findings(ExaminedFabric(fabric=read_fabric([str(tmp_path)])))
    assert {one.id for one in ones if one.level is Level.UNKNOWN} == {
        "cable-errors",
        "routes-unbalanced",
        "storage-in-hca-list",
    }


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3])
def test_nothing_passes_for_what_a_cut_file_does_not_list(tmp_path, share):
    text = ibnetdiscover_text(make_fabric(PLANS[0]))
    (tmp_path / "ib.txt").write_text(text[: int(share * len(text))])
    fabric = read_fabric([str(tmp_path)])
    assert "switches, such as spine-0: a file is cut off or missing" in fabric.warnings[0]
    assert not any(one.level is Level.PASS for one in findings(ExaminedFabric(fabric=fabric)))


@pytest.mark.parametrize("cut", [0.3, 0.97])
def test_cut_forwarding_tables_are_unknown(tmp_path, cut):
    made = make_fabric(PLANS[0])
    routes = dump_fts_text(made)
    (tmp_path / "ib.txt").write_text(ibnetdiscover_text(made))
    (tmp_path / "routes.txt").write_text(routes[: int(cut * len(routes))])
    ones = findings(ExaminedFabric(fabric=read_fabric([str(tmp_path)])), ["routes-unbalanced"])
    assert [one.level for one in ones] == [Level.UNKNOWN]
    assert "12 switches have no whole table, such as " in ones[0].message


def test_a_tree_has_no_cables_to_judge(tmp_path):
    (tmp_path / "topology.conf").write_text(
        "SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-7]\nSwitchName=c Switches=a,b\n"
    )
    fabric = read_fabric([str(tmp_path)])
    assert {one.level for one in findings(ExaminedFabric(fabric=fabric))} == {Level.UNKNOWN}
    assert not hca_lists(fabric, find_rails(fabric))
    assert shape_of(fabric, find_rails(fabric)).oversubscription == 1


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(InputError):
        read_fabric([str(tmp_path)])
