# SPDX-License-Identifier: Apache-2.0
"""A graph made with --merge-nics names a NIC that the topology has only when its ports are merged."""

from pathlib import Path

import pytest
from tests.topo.small_machines import gpu, pci, topology
from typer.testing import CliRunner

from railgauge.cli.graph.commands import app as graph
from railgauge.cli.topo.commands import app as topo
from railgauge.topo.xml import topology_file

TWO_PORTS = "".join(
    f'<net name="mlx5_{n}" dev="{n}" speed="100000" port="{n + 1}" guid="0x1" gdr="1"/>' for n in range(2)
)


def ask(app, *words):
    return CliRunner().invoke(app, [*words])


@pytest.fixture
def machine(tmp_path):
    card = pci("0000:13:00.0", "0x020000", f"<nic>{TWO_PORTS}</nic>")
    path = tmp_path / "topo.xml"
    path.write_text(topology_file.dumps(topology(gpu("0000:11:00.0", 0) + gpu("0000:12:00.0", 1) + card)))
    return str(path)


@pytest.fixture
def merged_graph(machine, tmp_path):
    path = str(tmp_path / "graph.txt")
    ask(graph, "search", "--from", machine, "--nodes", "2", "--merge-nics", "-o", path)
    return path


@pytest.mark.parametrize("command", [("lint",), ("show",), ("predict", "--graph")])
def test_such_a_graph_is_read_with_merged_ports(machine, merged_graph, command):
    found = ask(graph, *command, merged_graph, "--from", machine)
    assert found.exit_code == 0
    assert "--merge-nics is assumed" in found.stderr


def test_a_graph_of_an_unknown_nic_stays_wrong(machine, merged_graph, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text(Path(merged_graph).read_text().replace('<net dev="0x2"/>', '<net dev="0x7"/>'))
    found = ask(graph, "lint", str(other), "--from", machine)
    assert found.exit_code == 1
    assert "assumed" not in found.stderr


def test_the_dump_with_merged_ports_has_its_nic(machine):
    assert '<net name="mlx5_0+mlx5_1" dev="2"' in ask(topo, "dump", "--from", machine, "--merge-nics").stdout
