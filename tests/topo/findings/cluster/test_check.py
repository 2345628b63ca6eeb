# SPDX-License-Identifier: Apache-2.0
"""Findings of many nodes: examined once where they say the same, folded, and what only several nodes show."""

import copy
from dataclasses import replace

import pytest
from tests.cli.command import in_process
from tests.topo.findings.cluster import fleets

from railgauge.fixtures.fleet import member
from railgauge.topo.facts.capture import dumps
from railgauge.topo.facts.sources.host_identity import BOOT_ID, HOSTNAME
from railgauge.topo.findings.cluster.comparison import compare
from railgauge.topo.findings.cluster.examination import examine_node
from railgauge.topo.findings.cluster.fingerprint import fingerprint
from railgauge.topo.findings.cluster.folder import node_files, read_files
from railgauge.topo.findings.cluster.folding import folded_findings
from railgauge.topo.findings.cluster.rules.reachability import Reached
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rules import check
from railgauge.topo.machine import load_machine

BASE = "pcie-switch"


def usual(base=BASE):
    """A healthy machine with settings, but for an NCCL_HOSTID, which is to differ between hosts."""
    machine = fleets.usual(base)
    return replace(machine, facts=machine.facts | {"settings": {"environment": {}, "files": ["/etc/nccl.conf"]}})


def checked(folder):
    nodes, unread = read_files(node_files(str(folder)), lambda more: None, examine_node)
    return folded_findings([node.seen for node in nodes], compare(nodes, unread))


def found(folder, identifier):
    """The levels of an id, with the nodes."""
    return {(one.finding.level, one.finding.host) for one in checked(folder) if one.finding.id == identifier}


def as_it_is(folder, name, machine):
    """A capture as it is given, with no name or address of its own."""
    (folder / f"{name}.tar.gz").write_bytes(dumps(machine, ".tar.gz"))


def test_individuals_of_one_machine_are_alike_and_a_fault_is_not():
    machine = usual("dgx-h100")
    one, other = member(machine, "gpu1"), member(machine, "gpu2")
    assert fingerprint(one) == fingerprint(other)
    port = next(path for path in one.texts if path.endswith("mlx5_3/ports/1/state"))
    assert fingerprint(replace(other, texts=other.texts | {port: "1: DOWN"})) != fingerprint(one)
    facts = copy.deepcopy(other.facts)
    facts["nvml"]["gpus"][3]["links"][0]["state"] = 0
    assert fingerprint(replace(other, facts=facts)) != fingerprint(one)
    gid = next(path for path in one.texts if path.endswith("/gids/2"))
    assert fingerprint(replace(other, texts=other.texts | {gid: "0000:" * 7 + "0000"})) != fingerprint(one)


def test_equal_nodes_are_one_finding_and_healthy_ones_no_fault(tmp_path):
    for number in range(1, 5):
        fleets.write(tmp_path, f"gpu{number}", usual())
    folded = checked(tmp_path)
    assert {one.finding.host for one in folded} == {"gpu[1-4]"}
    assert not [one for one in folded if one.finding.level in (Level.WARN, Level.FAIL)]


def test_a_fault_names_its_node(tmp_path):
    for number in range(1, 4):
        fleets.write(tmp_path, f"gpu{number}", usual("dgx-h100"))
    fleets.write(tmp_path, "gpu4", usual("dgx-h100-nic-x8"))
    assert (Level.FAIL, "gpu4") in found(tmp_path, "pcie-link-degraded")
    assert Level.PASS not in {level for level, _ in found(tmp_path, "pcie-link-degraded")}
    assert (Level.WARN, "gpu4") in found(tmp_path, "nodes-differ")


def test_nodes_that_differ_in_a_setting_alone_are_judged_each_by_its_own(tmp_path):
    machine = usual("dgx-h100")
    odd = replace(machine, facts=machine.facts | {"settings": {"environment": {"NCCL_IB_HCA": "rocep1"}, "files": []}})
    assert fingerprint(member(machine, "gpu1")) != fingerprint(member(odd, "gpu1"))
    for number in range(1, 4):
        fleets.write(tmp_path, f"gpu{number}", machine if number < 3 else odd)
    assert found(tmp_path, "ib-hca-nomatch") >= {(Level.FAIL, "gpu3")}
    assert not {host for level, host in found(tmp_path, "ib-hca-nomatch") if level is Level.FAIL} - {"gpu3"}


def test_clones_are_one_host_and_share_their_gpus(tmp_path):
    machine = member(usual(), "clone")
    machine = replace(machine, texts=machine.texts | {BOOT_ID: "6f1d2c9a-0000-4000-8000-000000000001"})
    as_it_is(tmp_path, "gpu1", machine)
    as_it_is(tmp_path, "gpu2", machine)
    assert (Level.FAIL, "gpu[1-2]") in found(tmp_path, "host-id-collision")
    assert (Level.FAIL, "gpu[1-2]") in found(tmp_path, "duplicate-gpu")


def test_clones_that_were_given_another_name_are_two_hosts(tmp_path):
    machine = member(usual(), "clone")
    for name in ("gpu1", "gpu2"):
        as_it_is(tmp_path, name, replace(machine, texts=machine.texts | {HOSTNAME: name}))
    assert {level for level, _ in found(tmp_path, "host-id-collision")} <= {Level.PASS, Level.INFO}


@pytest.mark.parametrize(("ids", "expected"), [(("a", "b"), Level.INFO), (("a", "a"), Level.FAIL)])
def test_the_ids_that_settings_give_hosts_are_to_differ(tmp_path, ids, expected):
    for number, one in enumerate(ids, 1):
        machine = member(usual(), f"gpu{number}")
        told = {"settings": {"environment": {"NCCL_HOSTID": one}, "files": []}}
        as_it_is(tmp_path, f"gpu{number}", replace(machine, facts=machine.facts | told))
    levels = {level for level, _ in found(tmp_path, "host-id-collision")}
    assert expected in levels
    assert (Level.FAIL in levels) is (expected is Level.FAIL)


def interfaces(machine, name, address, prefix=24):
    """The machine with one interface that has an address."""
    facts = copy.deepcopy(machine.facts)
    told = [{"name": name, "index": 2, "flags": 4163, "addresses": [address], "prefix": prefix}]
    facts["interfaces"] = {"interfaces": told}
    return replace(machine, facts=facts, texts=machine.texts | {f"/sys/class/net/{name}/mtu": "1500"})


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ([("eno1", "10.0.0.1"), ("eno1", "10.0.0.2"), ("eno1", "10.0.0.3")], set()),
        ([("eno1", "10.0.1.1"), ("eno1", "10.0.2.2"), ("eno1", "10.0.3.3")], set()),  # a network for each rack
        ([("br0", "172.18.0.1"), ("br0", "172.18.0.1"), ("eno1", "10.0.0.3")], {(Level.FAIL, "gpu[1-2]")}),
        ([("eno1", "10.0.0.1"), ("eno1", "10.0.0.2"), ("usb0", "169.254.3.1")], {(Level.WARN, "gpu3")}),
    ],
)
def test_the_interfaces_of_the_bootstrap(tmp_path, addresses, expected):
    for number, (name, address) in enumerate(addresses, 1):
        as_it_is(tmp_path, f"gpu{number}", interfaces(member(usual(), f"gpu{number}"), name, address))
    assert {one for one in found(tmp_path, "socket-ifname-virtual") if one[0] in (Level.WARN, Level.FAIL)} == expected


def test_a_topology_file_and_a_file_that_is_none(tmp_path):
    (tmp_path / "gpu1.xml").write_text('<system version="1"><cpu numaid="0" arch="x86_64" affinity="1"/></system>')
    (tmp_path / "gpu2.tar.gz").write_bytes(b"\x1f\x8bnothing")
    assert (Level.UNKNOWN, "gpu1") in found(tmp_path, "memlock-low")
    assert (Level.UNKNOWN, "gpu2") in found(tmp_path, "nodes-differ")


@pytest.mark.parametrize("base", ["dgx-h100-nvlink-down", "hgx-h100-gid-holes", "vm-flat"])
def test_a_node_among_others_has_the_findings_that_it_has_alone(tmp_path, base):
    for number in range(1, 4):
        as_it_is(tmp_path, f"gpu{number}", member(usual(base), f"gpu{number}"))
    alone = check(load_machine(str(tmp_path / "gpu2.tar.gz")))
    among = [one.finding for one in checked(tmp_path)]
    assert {(one.id, one.level) for one in alone} == {(one.id, one.level) for one in among}


def test_a_node_with_another_driver(tmp_path):
    for number in range(1, 4):
        fleets.write(tmp_path, f"gpu{number}", usual("dgx-h100"))
    other = fleets.changed(
        '[files]\n"/proc/driver/nvidia/version" = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  x"\n'
        '[facts.nvml]\ndriver = "535.161.08"\n'
    )
    fleets.write(tmp_path, "gpu4", other)
    assert (Level.WARN, "gpu4") in found(tmp_path, "driver-mismatch")
    told = [one.finding for one in checked(tmp_path) if "535.161.08" in one.finding.message]
    assert {one.id for one in told} == {"driver-mismatch"}


def test_no_id_passes_that_only_several_nodes_show_to_be_wrong(tmp_path):
    machine = usual("dgx-h100")
    as_it_is(tmp_path, "gpu1", member(machine, "gpu1"))
    as_it_is(tmp_path, "gpu2", replace(member(machine, "gpu2"), facts=member(machine, "gpu1").facts))
    levels = {level for level, _ in found(tmp_path, "duplicate-gpu")}
    assert levels == {Level.FAIL}


def test_nodes_that_could_not_look_are_not_among_those_that_pass(tmp_path):
    machine = usual("dgx-h100")
    as_it_is(tmp_path, "gpu1", member(machine, "gpu1"))
    blind = member(machine, "gpu2")
    facts = {name: told for name, told in blind.facts.items() if name != "settings"}
    as_it_is(tmp_path, "gpu2", replace(blind, facts=facts))
    assert found(tmp_path, "ib-hca-nomatch") == {(Level.UNKNOWN, "gpu2"), (Level.PASS, "gpu1")}


def test_a_pass_is_not_of_all_nodes_where_one_was_not_read(tmp_path):
    fleets.write(tmp_path, "gpu1", usual())
    fleets.write(tmp_path, "gpu2", usual())
    (tmp_path / "gpu3.tar.gz").write_bytes(b"nothing")
    done = in_process("cluster", "check", "--from", str(tmp_path), "--skip", "host-id-collision", "-v")
    assert "PASS gpu[1-2] (2 of 3 nodes): " in done.stdout
    assert " (all 3 nodes)" not in done.stdout


def test_what_one_node_cannot_tell_is_taken_from_what_trying_passed():
    passed = Finding(id="x", level=Level.PASS, subject="", message="", evidence={"nodes": ["gpu1", "gpu2"]})
    unsure = replace(passed, level=Level.UNKNOWN, evidence={"nodes": ["gpu2"]})
    told = folded_findings([], compare([], []), Reached((passed, unsure)))
    assert {(one.finding.level, one.finding.host, one.nodes) for one in told} == {
        (Level.PASS, "gpu1", 1),
        (Level.UNKNOWN, "gpu2", 1),
    }


def test_no_id_both_passes_and_is_found(tmp_path):
    for number, base in enumerate(("dgx-h100", "dgx-h100-nic-x8", "dgx-a100-no-peermem", "pcie-switch"), 1):
        fleets.write(tmp_path, f"gpu{number}", usual(base))
    levels: dict[str, set[Level]] = {}
    for one in checked(tmp_path):
        levels.setdefault(one.finding.id, set()).add(one.finding.level)
    assert all(Level.PASS not in of or of <= {Level.PASS, Level.UNKNOWN} for of in levels.values())
