# SPDX-License-Identifier: Apache-2.0
"""cluster check of 64 captures: every bad node is named in each form of the answer, and half of them may be missing."""

import csv
import json
import shlex
import shutil

import pytest
from ClusterShell.NodeSet import NodeSet
from tests.cli.command import in_process
from tests.topo.findings.cluster.fleets import usual, without, write
from tests.topo.findings.node.cases import with_changes
from tests.topo.findings.node.planted import link, links_down, port

NODES = [f"gpu{number:03}" for number in range(1, 65)]
DOWN = {"files": port(3, state="1: DOWN", phys_state="2: Polling")}
FAULTS = {
    "gpu003": ("pcie-link-degraded", "FAIL", {"files": link("0000:18:00.0", 8)}),
    "gpu011": ("ib-port-down", "FAIL", DOWN),
    "gpu014": ("ib-port-down", "FAIL", DOWN),
    "gpu020": ("nvlink-missing", "WARN", {"facts": links_down(2, 3)}),
    "gpu021": ("nvlink-missing", "FAIL", {"facts": links_down(2, *range(18))}),
    "gpu033": ("ib-rate-low", "WARN", {"files": port(5, rate="200 Gb/sec (2X NDR)")}),
    "gpu041": ("nodes-differ", "WARN", {"files": {"/sys/module/nvidia_peermem": None}}),
    "gpu050": ("mig-enabled", "WARN", {"facts": {"nvml.gpus.3.mig": 1}}),
    "gpu064": ("gpu-lost", "FAIL", None),
}
"""The cause of each bad node, its level, and what is changed there; None: a GPU that is gone."""

OF_COPIES = ("--skip", "duplicate-gpu", "--skip", "host-id-collision", "--skip", "socket-ifname-virtual")
"""What copies of one node have in common."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Healthy nodes are copies of one: each individual by itself would take half a minute to write."""
    folder = tmp_path_factory.mktemp("fleet")
    write(folder, NODES[0], usual())
    for node in NODES[1:]:
        _, _, changes = FAULTS.get(node, ("", "", {}))
        if changes:
            write(folder, node, with_changes(usual(), **changes))
        elif changes is None:
            write(folder, node, without(usual(), "0000:61:00.0"))
        else:
            shutil.copy(folder / f"{NODES[0]}.tar.gz", folder / f"{node}.tar.gz")
    return folder


@pytest.fixture(scope="module")
def half(fleet, tmp_path_factory):
    """The same where every other node has no capture that can be read."""
    folder = tmp_path_factory.mktemp("half")
    for number, node in enumerate(NODES):
        file = shutil.copy(fleet / f"{node}.tar.gz", folder)
        if number % 2:
            with open(file, "r+b") as cut:
                cut.truncate(number * 50)
    return folder


def answer(folder, *arguments):
    done = in_process("cluster", "check", "--from", str(folder), *OF_COPIES, *arguments)
    assert done.returncode == 1, done.stderr
    return done


def bad(nodes):
    return {node: (level, name) for node, (name, level, _) in FAULTS.items() if node in nodes}


def test_the_first_line_and_the_causes_name_every_bad_node(fleet):
    shown = answer(fleet, "-v").stdout.splitlines()
    assert shown[0] == f"64 nodes: 55 clean, 9 with findings: {NodeSet.fromlist(FAULTS)}"
    for node, (name, level, _) in FAULTS.items():
        causes = [line.split(": ")[1].split(" ")[0] for line in shown if line.startswith(f"{level} {name}: ")]
        assert any(node in NodeSet(nodes) for nodes in causes), (node, causes)
    passed = {word.strip(",") for line in shown if line.startswith("PASS") for word in line.split()}
    assert passed
    assert not passed & {name for name, _, _ in FAULTS.values()}


def test_files_have_every_node_with_its_verdict(fleet, tmp_path):
    files = {suffix: tmp_path / f"r.{suffix}" for suffix in ("html", "prom", "csv", "json")}
    answer(fleet, *(word for path in files.values() for word in ("-o", str(path))))
    with open(files["csv"], newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["node"] for row in rows} == set(NODES)
    verdicts = {row["node"]: row["verdict"] for row in rows if row["verdict"] != "clean"}
    assert verdicts == {node: level for node, (level, _) in bad(NODES).items()}
    document = json.loads(files["json"].read_text())
    assert {one["node"]: (one["verdict"], one["causes"][0]) for one in document["nodes"] if one["causes"]} == bad(NODES)
    metrics = files["prom"].read_text().splitlines()
    for node, (level, name) in bad(NODES).items():
        start = f'railgauge_finding{{id="{name}",level="{level}",'
        assert any(line.startswith(start) and line.endswith(f'host="{node}"}} 1') for line in metrics)
    assert all(f"<tr><th>{node}</th>" in files["html"].read_text() for node in NODES)


def test_where_half_cannot_be_read_they_are_named_and_the_others_are_judged(half):
    there, gone = NODES[::2], NODES[1::2]
    first, _, *rows = answer(half, "--table").stdout.splitlines()
    named = NodeSet.fromlist(bad(there)), NodeSet.fromlist(gone)
    counts = f"{32 - len(named[0])} clean, {len(named[0])} with findings"
    assert first == f"64 nodes: {counts}: {named[0]}, 32 not read: {named[1]}"
    words = [row.split() for row in rows]
    assert [row[0] for row in words] == NODES
    assert [row[0] for row in words if row[1:3] == ["not", "read"]] == gone
    assert {row[0]: (row[1], row[2]) for row in words if row[0] in bad(there)} == bad(there)
    done = answer(half, "--drain")
    drained = [shlex.split(line) for line in done.stdout.splitlines()]
    assert NodeSet.fromlist(nodes for nodes, _ in drained) == named[0]
    assert all(len(reason) <= 200 for _, reason in drained)
    unlisted = [line.split(": ")[1] for line in done.stderr.splitlines() if "not read, so not listed" in line]
    assert NodeSet.fromlist(unlisted) == named[1]
