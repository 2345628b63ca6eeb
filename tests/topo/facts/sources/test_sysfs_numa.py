# SPDX-License-Identifier: Apache-2.0
"""NUMA nodes of a file system of its own."""

import pytest

from railgauge.topo.errors import InputError
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.sysfs_numa import NODES, numa_nodes
from railgauge.topo.values.cpuset import MAX_CORES


def machine(root, **lists):
    """A reader of it; by node the cores as the kernel lists them."""
    for name, cores in lists.items():
        folder = root / NODES[1:] / name
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{cores}\n")
    return LiveReader(str(root))


def test_nodes_without_cores_are_none(tmp_path):
    assert [node.id for node in numa_nodes(machine(tmp_path, node10="4-7", node2="0-3", node3=""))] == [2, 10]


def test_all_nodes_together_have_no_more_cores_than_a_machine(tmp_path):
    half = f"0-{MAX_CORES // 2 - 1}"
    assert len(numa_nodes(machine(tmp_path / "most", node0=half, node1=half))) == 2
    with pytest.raises(InputError, match="more than"):
        numa_nodes(machine(tmp_path / "more", node0=half, node1=half, node2="0"))
