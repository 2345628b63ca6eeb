# SPDX-License-Identifier: Apache-2.0
"""Assumptions are told as such: in remarks, in the tree and in paths."""

from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.model import System
from railgauge.topo.nccl.graph.remarks import remarks
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.explanation import explain
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.render.paths import describe
from railgauge.topo.render.topology import Branch, branches
from railgauge.topo.values.numa_node import NumaNode
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.topology import Topology

H200 = load_machine("@h200x4")


def labels(system: System) -> list[str]:
    def below(branch: Branch) -> list[str]:
        return [branch.label, *(label for part in branch.below for label in below(part))]

    return [label for branch in branches(system) for label in below(branch)]


def test_no_limit_is_no_figure():
    text = "\n".join(labels(build_system(H200.topology)))
    assert "PCI no limit  NIC/" in text
    assert "5000" not in text


def host(read_gb_per_s: float | None) -> System:
    root = topology_file.loads('<system version="1"><cpu numaid="0" arch="x86_64"/></system>').root
    numa = (NumaNode(id=0, cpus=(0, 1), read_gb_per_s=read_gb_per_s),)
    return build_system(Topology(root=root, numa=numa), host_ranks=2)


def test_assumed_speeds_of_host_ranks_are_marked():
    assumed = [label for label in labels(host(None)) if label.startswith("MEM")]
    assert len(assumed) == 3
    assert all("GB/s (assumed)" in label for label in assumed)
    known = next(label for label in labels(host(80.0)) if "MEM/0-0" in label)
    assert known == "MEM 80 GB/s  MEM/0-0"


def test_assumed_speeds_of_a_path_are_marked():
    system = host(None)
    lines = describe(explain(system, paths(system), "HOST/0-0", "HOST/0-1")).splitlines()
    assert all(" - assumed]" in line for line in lines if line.startswith("  MEM"))


def test_what_is_counted_as_something_is_told():
    assert any("assumed x16: 0000:00:06.0" in warning for warning in H200.warnings)
    text = topology_file.dumps(H200.topology).replace('speed="10000"', 'speed="-1"')
    assert remarks(topology_file.loads(text))[1:] == ()
    text = topology_file.dumps(H200.topology).replace('speed="10000"', 'speed="0"').replace('width="0"', 'width="16"')
    assert remarks(topology_file.loads(text)) == ("speed unknown, assumed 10 Gb/s: eth0",)
