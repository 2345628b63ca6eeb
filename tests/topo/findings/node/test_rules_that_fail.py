# SPDX-License-Identifier: Apache-2.0
"""A rule that fails by itself is UNKNOWN with its error; what the others find stands, and the command ends with 70."""

import json
from dataclasses import replace
from importlib import import_module

import pytest
from tests.cli.command import in_process
from tests.cli.test_schemas import check as check_schema
from tests.topo.findings.cluster import fleets
from tests.topo.findings.node.cases import NET, case, findings, worst

from railgauge.topo.errors import InputError
from railgauge.topo.findings.cluster.rules import mtu_mismatch
from railgauge.topo.findings.finding import Level
from railgauge.topo.findings.node import rules
from railgauge.topo.findings.node.rule import examine
from railgauge.topo.findings.traffic import rules as counter_rules
from railgauge.topo.findings.traffic.traffic_elsewhere import RULE as ELSEWHERE

DGX = "@dgx-h100-nic-x8"


def interfaces(*told):
    """Interfaces with an address each, their prefix left out where it is None."""
    some = [
        {"name": f"eth{n}", "index": n + 2, "flags": 0x1043, "addresses": [f"10.0.0.{n + 1}"]}
        | ({} if prefix is None else {"prefix": prefix})
        for n, prefix in enumerate(told)
    ]
    return {"interfaces": {"interfaces": some}}


def filters(value):
    conf = "/proc/sys/net/ipv4/conf"
    own = {f"{conf}/eth{n}/rp_filter": value for n in range(2)}
    return {f"{conf}/all/rp_filter": "0"} | own | {f"{NET}/eth{n}/mtu": "1500" for n in range(2)}


@pytest.mark.parametrize(("value", "level"), [("0", "PASS"), ("2", "PASS"), ("1", "UNKNOWN")])
def test_an_interface_without_a_prefix_is_no_error(value, level):
    one = case("laptop", facts=interfaces(24, None), files=filters(value))
    assert worst("rp-filter-strict", one) == level
    assert not any(found.error for found in rules.check(one))


def broken(rule):
    """The same rule, which gives all that it finds and then fails."""

    def check(file):
        yield from rule.check(file)
        raise KeyError("colour")

    return replace(rule, check=check)


@pytest.fixture
def one_breaks(monkeypatch):
    """pcie-link-degraded fails by itself behind its finding."""
    changed = tuple(broken(rule) if rule.id == "pcie-link-degraded" else rule for rule in rules.RULES)
    monkeypatch.setattr(rules, "RULES", changed)
    monkeypatch.setattr(import_module("railgauge.topo.findings.cluster.examination"), "LASTING", changed)


def test_the_rest_of_an_answer_stands(one_breaks):
    text = in_process("check", "--from", DGX)
    assert text.returncode == 70
    assert "FAIL pcie-link-degraded: " in text.stdout
    assert "UNKNOWN pcie-link-degraded: internal error of railgauge: unexpected KeyError: 'colour' (" in text.stdout
    assert "PASS" in text.stdout
    assert "pcie-link-degraded" in text.stderr
    assert "KeyError: 'colour'" in text.stderr


def test_the_document_is_whole(one_breaks):
    whole = in_process("check", "--from", DGX, "--json")
    assert whole.returncode == 70
    document = json.loads(whole.stdout)
    check_schema("findings", document)
    levels = {one["level"] for one in document["findings"] if one["id"] == "pcie-link-degraded"}
    assert levels == {"FAIL", "UNKNOWN"}
    assert any("KeyError" in one["evidence"].get("error", "") for one in document["findings"])
    assert len({one["id"] for one in document["findings"]}) > 20


def test_a_rule_that_is_skipped_does_no_harm(one_breaks):
    assert in_process("check", "--from", DGX, "--skip", "pcie-link-degraded").returncode == 0


def test_errors_that_are_raised_on_purpose_pass(monkeypatch):
    def check(_):
        raise InputError("contradicts itself")

    rule = replace(rules.RULES[0], check=check, concerns=lambda _: True, needs=())
    with pytest.raises(InputError):
        rules.check(case("dgx-h100"), (rule,))


def test_one_failing_rule_leaves_the_other_nodes_and_rules_of_a_cluster(tmp_path, one_breaks):
    for name in ("gpu1", "gpu2"):
        fleets.write(tmp_path, name, fleets.usual())
    fleets.write(tmp_path, "gpu3", fleets.usual("dgx-h100-nic-x8"))
    done = in_process("cluster", "check", "--from", str(tmp_path), "--json")
    assert done.returncode == 70, done.stderr
    found = {(one["id"], one["level"], one["host"]) for one in json.loads(done.stdout)["findings"]}
    assert ("pcie-link-degraded", "FAIL", "gpu3") in found
    assert ("pcie-link-degraded", "UNKNOWN", "gpu[1-3]") in found
    assert ("pcie-link-degraded", "PASS") not in {one[:2] for one in found}
    assert any(one[1] == "PASS" for one in found)
    assert "KeyError: 'colour'" in done.stderr


def test_a_rule_across_nodes_that_fails_leaves_the_others(tmp_path, monkeypatch):
    def find(_):
        raise ZeroDivisionError("no votes")

    monkeypatch.setattr(mtu_mismatch, "find", find)
    for name in ("gpu1", "gpu2"):
        fleets.write(tmp_path, name, fleets.usual())
    done = in_process("cluster", "check", "--from", str(tmp_path), "--json")
    assert done.returncode == 70
    found = {(one["id"], one["level"]) for one in json.loads(done.stdout)["findings"]}
    assert ("mtu-mismatch", "UNKNOWN") in found
    assert ("mtu-mismatch", "PASS") not in found
    assert "ZeroDivisionError: no votes" in done.stderr


def test_a_node_that_cannot_be_examined_leaves_the_others(tmp_path, monkeypatch):
    examination = import_module("railgauge.topo.findings.cluster.examination")
    whole = examination.endpoints

    def endpoints(one):
        if one.host == "gpu2":
            raise IndexError("no interface")
        return whole(one)

    monkeypatch.setattr(examination, "endpoints", endpoints)
    for name in ("gpu1", "gpu2", "gpu3"):
        fleets.write(tmp_path, name, fleets.usual())
    done = in_process("cluster", "check", "--from", str(tmp_path))
    assert done.returncode == 70
    assert done.stdout.startswith("3 nodes: 2 clean, 1 not read: gpu2\n")
    assert "IndexError: no interface" in done.stderr


@pytest.mark.parametrize("command", [("topo", "lint"), ("graph", "lint")])
def test_linters_keep_what_other_rules_find(command, monkeypatch, tmp_path):
    lint = import_module(
        "railgauge.topo.findings.topology_file.rules"
        if command[0] == "topo"
        else "railgauge.topo.findings.graph_file.rules"
    )
    monkeypatch.setattr(lint, "RULES", tuple(broken(rule) if n == 3 else rule for n, rule in enumerate(lint.RULES)))
    file = tmp_path / "file.xml"
    made = ("topo", "dump", "--from", DGX) if command[0] == "topo" else ("graph", "search", "--from", DGX)
    assert in_process(*made, "-o", str(file)).returncode == 0
    done = in_process(*command, str(file), "--from", DGX, "--json")
    assert done.returncode == 70, done.stderr
    document = json.loads(done.stdout)
    assert {"UNKNOWN"} < {one["level"] for one in document["findings"]}
    assert "KeyError: 'colour'" in done.stderr


def test_gdr_check_keeps_the_other_pairs(monkeypatch):
    gdr = import_module("railgauge.topo.findings.gdr.findings")
    whole = gdr._level

    def level(pair, *rest):
        if gdr.name(pair) == "GPU0 mlx5_0":
            raise RuntimeError("odd pair")
        return whole(pair, *rest)

    monkeypatch.setattr(gdr, "_level", level)
    done = in_process("gdr", "check", "--from", DGX, "--json")
    assert done.returncode == 70
    found = {one["subject"]: one["level"] for one in json.loads(done.stdout)["findings"]}
    assert found["GPU0 mlx5_0"] == "UNKNOWN"
    assert found["GPU1 mlx5_1" if "GPU1 mlx5_1" in found else "GPU1 mlx5_3"] in ("PASS", "INFO")
    text = in_process("gdr", "check", "--from", DGX)
    assert text.returncode == 70
    assert "odd pair" in text.stderr


def test_counters_keep_the_other_rule(monkeypatch):
    monkeypatch.setattr(counter_rules, "RULES", (broken(ELSEWHERE), *counter_rules.RULES[1:]))
    found = counter_rules.findings([])
    assert [one.level for one in found if one.id == ELSEWHERE.id][-1] is Level.UNKNOWN
    assert any(one.error for one in found)


def test_a_healthy_answer_has_no_error():
    assert not any(one.error for one in findings("pcie-link-degraded", case("dgx-h100")))


def test_a_rule_that_fails_before_it_looks_is_unknown_too():
    def concerns(_):
        raise KeyError("colour")

    rule = next(one for one in rules.RULES if one.id == "rp-filter-strict")
    (found,) = examine(replace(rule, concerns=concerns), case("laptop"))
    assert found.level is Level.UNKNOWN
    assert found.error
