# SPDX-License-Identifier: Apache-2.0
"""Every machine in fixtures/ gives what is expected: facts written by hand, and outputs kept beside it."""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railgauge.cli.topo.commands import app
from railgauge.topo.channels import graph_file
from railgauge.topo.channels.graph import Policy
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.pasted import smi_matrix
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.ends import find_end
from railgauge.topo.nccl.graph.link_facts import pci_states
from railgauge.topo.nccl.graph.model import PATH_TYPES, NodeKind
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.gid import GidSettings, choose_gid
from railgauge.topo.predict.search import search

FIXTURES = Path(__file__).parents[2] / "fixtures"
SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
RECORDED = sorted(file.parent.name for file in FIXTURES.glob("*/capture.tar.gz"))
DESCRIBED = {file.parent.name: tomllib.loads(file.read_text()) for file in sorted(FIXTURES.glob("*/machine.toml"))}
WHOLE = [*RECORDED, *(name for name, described in DESCRIBED.items() if "base" not in described)]  # no faulty variants
GRAPHS = sorted(file.parent.parent.name for file in FIXTURES.glob("*/expected/graph.txt"))
SEEN = {  # outputs of nvidia-smi topo -m on such machines
    "a100-4gpu": "smi-topo-a100-4gpu-2nic.tabs.txt",
    "consumer-2x5090": "smi-topo-2x5090-phb-and-p2p.tabs.txt",
    "dgx-2": "smi-topo-dgx2-v100-16gpu.txt",
    "dgx-a100": "smi-topo-dgx-a100-12nic.txt",
    "dgx-h100": "smi-topo-dgx-h100-12nic.tabs.txt",
    "h200nvl": "smi-topo-h200nvl-2pairs.txt",
}
VIEWS = {"topo": ("dump",), "matrix": ("show", "--view", "matrix"), "rdma": ("show", "--view", "rdma")}


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("name", WHOLE)
def test_views_are_the_expected_ones(name, kind, expect):
    expect(FIXTURES / name / "expected" / f"{kind}.txt", view(name, kind))


def view(name, kind):
    """What the command line prints."""
    result = CliRunner().invoke(app, [*VIEWS[kind], "--from", f"@{name}"], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("name", WHOLE)
def test_paths_are_the_expected_ones(name, expect):
    table = paths(system_of(name))
    counts = Counter(
        (*(end.partition("/")[0] for end in ends), path.type, path.hops, f"{path.gb_per_s:g}") for *ends, path in table
    )
    lines = [
        f"{a} {b} {kind} {hops} hops {speed} GB/s x {n}\n" for (a, b, kind, hops, speed), n in sorted(counts.items())
    ]
    expect(FIXTURES / name / "expected" / "paths.txt", "".join(lines))


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_are_the_expected_ones(name, expect):
    system = system_of(name)
    graphs = search(system, policy=Policy.NCCL)
    expect(FIXTURES / name / "expected" / "graph.txt", graph_file.dumps(graphs, system))


@pytest.mark.parametrize(("name", "dump"), [("h200x4", "topo.xml"), ("h200x4", "graph.xml")])
def test_nccl_wrote_the_same(name, dump):
    theirs = SAMPLES / name / dump
    if not theirs.is_file():
        pytest.skip("NCCL's own dump is not at hand")
    ours = FIXTURES / name / "expected" / dump.replace(".xml", ".txt")
    assert neutral(ours.read_text()) == neutral(theirs.read_text())


@pytest.mark.parametrize(("name", "sample"), SEEN.items())
def test_nvidia_smi_printed_the_same(name, sample):
    file = SAMPLES / sample
    if not file.is_file():
        pytest.skip("the sample is not at hand")
    theirs, ours = smi_matrix.loads(file.read_text()), smi_matrix.loads(view(name, "matrix"))
    number = {device: nic for nic, device in ours.nics.items()}
    end = {one: number.get(theirs.nics.get(one, one), one) for one in theirs.columns}  # mlx5_0 is NIC0
    cells = {(end[row], end[column]): letter for (row, column), letter in theirs.cells.items()}
    assert {pair: ours.cells[pair] for pair in cells} == cells
    assert {row: ours.affinities[row][:2] for row in theirs.affinities if theirs.affinities[row][1]} == {
        row: affinity[:2] for row, affinity in theirs.affinities.items() if affinity[1]
    }


def neutral(text: str) -> str:
    return re.sub(r'(host_hash|rank)="[^"]*"', r'\1=""', text)


def test_h200x4_has_twelve_channels_at_30_by_nccl_and_could_have_them_at_30_9():
    for policy, count, speed in ((Policy.NCCL, 12, 30.0), (Policy.BEST, 12, 30.9)):
        ring = search(system_of("h200x4"), policy=policy).ring
        assert (len(ring.channels), ring.gb_per_s_intra, ring.type_intra) == (count, speed, "NVL")


def system_of(name):
    return build_system(load_machine(f"@{name}").topology)


def expected(key):
    """The machines whose [expect] has a key, with its value."""
    return [(name, machine["expect"][key]) for name, machine in DESCRIBED.items() if key in machine["expect"]]


def test_every_described_machine_says_what_to_expect():
    assert all({"gpus", "nics"} <= machine.get("expect", {}).keys() for machine in DESCRIBED.values())


@pytest.mark.parametrize("name", DESCRIBED)
def test_devices_are_counted(name):
    expect, topology = DESCRIBED[name]["expect"], load_machine(f"@{name}").topology
    nets = [element for element in topology.root.walk() if element.name == "net"]
    assert (len(topology.gpus), len(nets)) == (expect["gpus"], expect["nics"])


@pytest.mark.parametrize("name", DESCRIBED)
def test_warnings_are_those_expected(name):
    wanted, warnings = DESCRIBED[name]["expect"].get("warnings", []), load_machine(f"@{name}").warnings
    assert [text for text in wanted if not any(text in warning for warning in warnings)] == []
    assert wanted or not warnings


@pytest.mark.parametrize(("name", "numa"), expected("numa"))
def test_gpus_sit_on_their_numa_nodes(name, numa):
    machine = load_machine(f"@{name}")
    by_gpu = {
        gpu.get("dev"): cpu.get("numaid") for cpu in machine.topology.cpus for gpu in cpu.walk() if gpu.name == "gpu"
    }
    assert [int(by_gpu[str(i)]) for i in range(len(by_gpu))] == numa


@pytest.mark.parametrize(("name", "wanted"), expected("paths"))
def test_paths_are_as_publicly_known(name, wanted):
    system = system_of(name)
    table = paths(system)
    found = {pair: table.get(*(find_end(system, end).id for end in pair.split())) for pair in wanted}
    assert {pair: f"{path.type} {path.gb_per_s:g}" for pair, path in found.items()} == wanted


@pytest.mark.parametrize(("name", "wanted"), expected("nearest"))
def test_each_gpu_has_its_nearest_nic(name, wanted):
    system = system_of(name)
    table = paths(system)
    assert [" ".join(nearest(system, table, gpu)) for gpu in system.kind(NodeKind.GPU)] == wanted


def nearest(system, table, gpu):
    """The names of the NICs whose path type from a GPU is the best, in the order of their numbers."""
    reach = {net.name: PATH_TYPES.index(table.get(gpu.id, net.id).type) for net in system.kind(NodeKind.NET)}
    return [name for name, place in reach.items() if place == min(reach.values())]


@pytest.mark.parametrize("name", [name for name, machine in DESCRIBED.items() if machine["expect"]["gpus"]])
def test_gpudirect_rdma_is_on_unless_said(name):
    wanted = DESCRIBED[name]["expect"].get("gdr", True)
    nets = [element for element in load_machine(f"@{name}").topology.root.walk() if element.name == "net"]
    assert {element.get("gdr") for element in nets} == {str(int(wanted))}


@pytest.mark.parametrize("name", DESCRIBED)
def test_links_run_at_full_width_unless_said(name):
    machine = load_machine(f"@{name}")
    narrow = [state.link.bus_id for state in pci_states(machine.topology, machine.facts) if state.link.is_short]
    assert narrow == DESCRIBED[name]["expect"].get("degraded", [])


@pytest.mark.parametrize(("name", "wanted"), expected("gids"))
def test_nccl_takes_the_gid(name, wanted):
    devices = {device.name: device for device in MachineFacts(load_machine(f"@{name}").reader).rdma}
    assert {rdma: choose_gid(devices[rdma].ports[0], GidSettings()).index for rdma in wanted} == wanted


@pytest.mark.parametrize("name", DESCRIBED)
def test_its_dump_is_clean_unless_said(name, tmp_path):
    file = tmp_path / "topo.xml"
    file.write_text(view(name, "topo"))
    result = CliRunner().invoke(app, ["lint", str(file), "--from", f"@{name}", "--json"])
    findings = [one["id"] for one in json.loads(result.stdout)["findings"] if one["level"] != "INFO"]
    assert findings == DESCRIBED[name]["expect"].get("lint", [])


@pytest.mark.parametrize(("name", "lines"), expected("diff"))
def test_a_variant_differs_from_its_base_in_what_was_changed(name, lines):
    base = Path(DESCRIBED[name]["base"]).parent.name
    result = CliRunner().invoke(app, ["diff", f"@{base}", f"@{name}"])
    assert result.exit_code == 1
    assert [line for line in lines if line not in result.stdout.splitlines()] == []
