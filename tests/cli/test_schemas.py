# SPDX-License-Identifier: Apache-2.0
"""Every JSON document is what its schema says: it lacks nothing, and holds nothing that the schema does not name."""

import copy
import json
import re
from importlib import resources
from pathlib import Path

import pytest
from tests.cli.command import railgauge
from tests.topo.jobs.hang import ras
from tests.topo.jobs.hang.reading import dump, entry, up_to, write_dumps
from tests.topo.jobs.logs.excerpts import LOGS

jsonschema = pytest.importorskip("jsonschema")
SCHEMAS = {path.name.removesuffix(".json"): path for path in (resources.files("railgauge") / "cli/schemas").iterdir()}
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "json.md"
FIXTURES = ("@h200x4", "@dgx-h100", "@gb200-tray", "@dgx-a100", "@laptop", "@power9-ac922")
TRACE = str(Path(__file__).parents[1] / "topo" / "jobs" / "traces" / "bill.json")
TABLE = str(Path(__file__).parents[1] / "topo" / "jobs" / "tables" / "outputs" / "nccl-tests-2.17.6.txt")
FABRIC = str(Path(__file__).parents[1] / "topo" / "fabric" / "recorded")
COMMANDS = {
    "paths": [
        ("topo", "paths", "--from", "@h200x4", "--json"),
        ("topo", "paths", "GPU0", "NIC0", "--from", "@dgx-h100-nic-x8", "--json"),
        ("topo", "paths", "GPU0", "GPU1", "--from", "@dgx-h100", "--json"),
        ("topo", "paths", "GPU0", "CPU1", "--from", "@gb200-tray", "--json"),
        ("topo", "paths", "GPU0", "GPU3", "--from", "@pcie-no-switch", "--set", "NCCL_P2P_LEVEL=PIX", "--json"),
    ],
    "graph": [
        ("graph", "search", "--from", "@h200x4", "--json"),
        ("graph", "search", "--from", "@dgx-a100", "--nodes", "2", "--json"),
    ],
    "plan": [("graph", "join", "2*@dgx-h100", "@dgx-a100", "--json"), ("graph", "join", "@h200x4", "--json")],
    "pick": [
        ("topo", "pick", "-n", "4", "--busy", "GPU0,GPU5", "--from", "@dgx-a100", "--json"),
        ("topo", "pick", "-n", "1", "--from", "@gh200", "--json"),
        ("topo", "pick", "-n", "2", "--nodes", "2", "--from", "@gb200-tray", "--json"),
    ],
    "predict": [
        ("graph", "predict", "--from", "@h200x4", "-f", "1024", "--json"),
        ("graph", "predict", "--from", "@dgx-a100", "--nodes", "64", "--fabric", "rail", "--drop", "NIC1", "--json"),
        ("graph", "predict", "--from", "@intel-2s", "--ranks", "4", "--device", "cpu", "-f", "1024", "--json"),
        ("graph", "predict", "alltoall", "--from", "@intel-2s", "--ranks", "4", "--nodes", "2", "--json"),
    ],
    "bill": [
        ("graph", "predict", "--trace", TRACE, "--from", "@h200x4", "--json"),
        ("graph", "predict", "--trace", TRACE, "--from", "@h200x4", "--drop", "NIC0", "--json"),
    ],
    "run": [
        ("run", "all_reduce", "--ranks", "2", "-b", "8", "-e", "64", "-f", "8", "-n", "1", "--json"),
        ("run", "all_reduce", "--ranks", "2", "-b", "8", "-e", "8", "-n", "1", "-c", "0", "--json"),
        ("run", "all_reduce", "--ranks", "2", "-b", "8", "-e", "8", "-n", "1", "--min-busbw", "1e6", "--json"),
        ("run", "all_reduce", "--ranks", "2", "-b", "1M", "-e", "1M", "-n", "1", "--counters", "--json"),
        ("run", "--trace", TRACE, "--device", "cpu", "--json"),
    ],
    "rdma": [("topo", "show", "--view", "rdma", "--json", "--from", name) for name in FIXTURES],
    "env": [
        ("env", "--from", "@hgx-h100-gid-holes", "--set", "NCCL_IB_GID_INDEX=3", "--set", "NCCL_PROTOS=2", "--json"),
        ("env", "--from", "@laptop", "--json"),
    ],
    "link": [("link", "--ranks", "2", "-b", "4K", "-n", "1", "--json")],
    "judge": [("judge", TABLE, "--json"), ("judge", TABLE, "--from", "@dgx-a100", "--nodes", "2", "--json")],
    "fabric": [("fabric", "show", FABRIC, "--json")],
    "rails": [("fabric", "rails", FABRIC, "--json")],
    "route": [("fabric", "route", "gpu000/mlx5_0", "gpu005/mlx5_1", "--fabric", FABRIC, "--json")],
    "order": [("fabric", "order", FABRIC, "--json")],
    "load": [("fabric", "load", FABRIC, "--json"), ("fabric", "load", FABRIC, "--adaptive", "--json")],
    "places": [("fabric", "export", FABRIC, "--json")],
    "findings": [("fabric", "check", FABRIC, "--json")],
    "list": [("run", "--list", "--json")],
    "watch": [("watch", "--from", "@dgx-h100", "--every", "1ms", "--count", "1", "--json")],
    "diff": [
        ("topo", "diff", "@dgx-h100", "@dgx-h100-nic-x8", "--json"),
        ("topo", "diff", "@dgx-h100", "@dgx-a100", "--json"),
    ],
}
CASES = [(name, command) for name, commands in COMMANDS.items() for command in commands]


def check(name, document):
    schema = json.loads(SCHEMAS[name].read_text())
    jsonschema.Draft202012Validator(closed(schema)).validate(document)


def closed(schema):
    """The schema without leave to add: what users must not rely on, but our own documents keep to."""
    schema = copy.deepcopy(schema)
    for node in walk(schema):
        if "properties" in node:
            node["additionalProperties"] = False
    return schema


def walk(node):
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(child)


@pytest.mark.parametrize(("name", "command"), CASES, ids=[" ".join(command[:5]) for _, command in CASES])
def test_document_is_as_its_schema_says(name, command):
    check(name, json.loads(railgauge(*command).stdout))


@pytest.mark.parametrize("machine", FIXTURES)
def test_topology_document_is_as_its_schema_says(tmp_path, machine):
    path = tmp_path / "node.json"
    assert railgauge("topo", "show", "--from", machine, "-o", str(path)).returncode == 0
    check("topology", json.loads(path.read_text()))


def test_findings_document_is_as_its_schema_says(tmp_path):
    path = tmp_path / "topo.xml"
    path.write_text('<system version="1"><cpu numaid="0" arch="riscv"/><cpu numaid="1" arch="riscv"/></system>')
    for arguments in ((), ("--from", "@dgx-h100")):
        document = json.loads(railgauge("topo", "lint", str(path), "--json", *arguments).stdout)
        assert document["findings"]
        check("findings", document)
    for machine in ("@dgx-h100-nic-x8", "@vm-flat", str(path)):
        check("findings", json.loads(railgauge("check", "--from", machine, "--json").stdout))
    against = railgauge("check", "--from", "@dgx-h100", "--against", "@dgx-h100-port-down", "--json")
    check("findings", json.loads(against.stdout))


@pytest.mark.parametrize("names", [LOGS, ["healthy"], ["2.8 on one node"]], ids=len)
def test_log_document_is_as_its_schema_says(tmp_path, names):
    path = tmp_path / "log.txt"
    path.write_text("".join(LOGS[name][0] for name in names))
    check("log", json.loads(railgauge("log", "explain", str(path), "--json").stdout))


def test_hang_document_is_as_its_schema_says(tmp_path):
    write_dumps(tmp_path, {0: dump([*up_to(5, waits=5), entry(1, "send 0->1", "scheduled")]), 1: dump(up_to(3))})
    (tmp_path / "ras.txt").write_text(ras.behind())
    (tmp_path / "nothing.txt").write_text("loss 2.3\n")
    document = json.loads(railgauge("log", "hang", str(tmp_path), "--json").stdout)
    assert document["findings"]
    assert document["notes"]
    check("hang", document)


@pytest.mark.parametrize("timeout", [(), ("-T", "10", "--fault", "stall")])
def test_record_is_as_its_schema_says(tmp_path, timeout):
    path = tmp_path / "record.json"
    railgauge("run", "all_reduce", "--ranks", "2", "-b", "8", "-e", "8", "--record", str(path), *timeout)
    check("record", json.loads(path.read_text()))


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_one(name):
    schema = json.loads(SCHEMAS[name].read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema"] == {"const": f"railgauge/{name}/1"} == {"const": schema["$id"]}


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_field_is_described(name):
    text = DOCS.read_text()
    section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section, f"docs/reference/json.md has no section on {name}"
    schema = json.loads(SCHEMAS[name].read_text())
    fields = {field for node in walk(schema) for field in node.get("properties", {}) if isinstance(field, str)}
    head = {"schema", "version", "host", "time"}
    assert [field for field in sorted(fields - head) if f"`{field}`" not in section[1]] == []


def test_a_document_that_lacks_a_field_is_refused():
    document = json.loads(railgauge("topo", "paths", "--from", "@h200x4", "--json").stdout)
    del document["paths"][0]["gb_per_s"]
    with pytest.raises(jsonschema.ValidationError, match="gb_per_s"):
        check("paths", document)
