# SPDX-License-Identifier: Apache-2.0
"""hwloc reads the same trees as we do: both have to see the same PCI functions at the same places, near the same cores.

hwloc builds the tree from the bus numbers in the bridges' configuration space, we from the folders of sysfs.
"""

import struct
import tarfile
import tomllib
from pathlib import Path

import pytest
from tests.topo.hwloc_view import lstopo, numa_cores, ours, theirs

from railgauge.fixtures.__main__ import load
from railgauge.topo.facts.capture import CaptureReader
from railgauge.topo.facts.described.files import unpack
from railgauge.topo.facts.sources.pci_functions import read_functions
from railgauge.topo.facts.sources.sysfs_numa import numa_nodes
from railgauge.topo.machine import load_machine
from railgauge.topo.values.cpuset import to_mask
from railgauge.topo.values.spans import listed

FIXTURES = Path(__file__).parents[2] / "fixtures"
SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
BUILT = [file for file in FIXTURES.glob("*/machine.toml") if "base" not in tomllib.loads(file.read_text())]
MACHINES = sorted(file.parent.name for file in [*BUILT, *FIXTURES.glob("*/capture.tar.gz")])
BRIDGE = "0x0604"


@pytest.mark.parametrize("name", MACHINES)
def test_hwloc_sees_the_same_tree_in_a_fixture(name, tmp_path):
    capture = load(name)
    reader = CaptureReader(capture)
    unpack(capture.texts, capture.links, tmp_path)
    complete(reader, tmp_path)
    assert theirs(lstopo(tmp_path)) == ours(reader)


def complete(reader, root):
    """Add what hwloc reads and we don't: the bridges' bus numbers, local CPUs, the cores' topology."""
    functions = read_functions(reader)
    masks = {node.id: reader.text(f"/sys/devices/system/node/node{node.id}/cpumap") for node in numa_nodes(reader)}
    for function in functions:
        folder = root / "sys" / "bus" / "pci" / "devices" / function.bus_id
        below = [int(other.bus_id[5:7], 16) for other in functions if function.bus_id in other.path[:-1]]
        (folder / "config").write_bytes(config_space(function, below))
        if function.numa is not None:
            (folder / "local_cpus").write_text(masks[function.numa] + "\n")
    cores = sorted(core for node in numa_nodes(reader) for core in node.cpus)
    write_cores(root / "sys" / "devices" / "system" / "cpu", cores or [0])


def config_space(function, below):
    """The header that hwloc looks at: type 1 with secondary and subordinate bus for a bridge."""
    space = bytearray(64)
    if (function.pci_class or "").startswith(BRIDGE):
        bus = int(function.bus_id[5:7], 16)
        space[0x0E] = 1
        struct.pack_into("BBB", space, 0x18, bus, min(below, default=0), max(below, default=0))
    return bytes(space)


def write_cores(folder, cores):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "online").write_text(listed(cores) + "\n")
    for core in cores:
        topology = folder / f"cpu{core}" / "topology"
        topology.mkdir(parents=True)
        for name in ("thread_siblings", "core_siblings"):
            (topology / name).write_text(to_mask((core,), core + 1) + "\n")


def gathered(name, folder):
    """The root of a tree that hwloc-gather-topology recorded, unpacked, and our reader of the archive."""
    archive = SAMPLES / f"{name}.tar.bz2"
    if not archive.is_file():
        pytest.skip("the trees of hwloc's own tests are not at hand")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="tar")
    (root,) = folder.iterdir()
    return root, load_machine(str(archive)).reader


def test_hwloc_sees_the_same_tree_in_a_recorded_server(tmp_path):
    root, reader = gathered("hwloc-40intel64-2g2n4c+pcilocality", tmp_path)
    found = theirs(lstopo(root))
    assert len(found) == 37
    assert without_cores(found) == without_cores(ours(reader))  # that server's local_cpus contradict its numa_node


def test_hwloc_sees_the_same_gpus_on_a_power9(tmp_path):
    root, reader = gathered("hwloc-nvidiagpunumanodes", tmp_path)
    classes = {bus_id: function.pci_class for bus_id, function in ours(reader).items()}
    assert {bus_id: function.pci_class for bus_id, function in theirs(lstopo(root)).items()} == classes
    assert len(classes) == 6


def test_hwloc_sees_the_same_numa_nodes_on_a_gb10(tmp_path):
    root, reader = gathered("hwloc-nvidia-dgx-gb10", tmp_path)
    nodes = {node.id: frozenset(node.cpus) for node in numa_nodes(reader)}
    assert numa_cores(lstopo(root)) == nodes
    assert numa_cores((SAMPLES / "hwloc-nvidia-dgx-gb10.xml").read_text()) == nodes


def without_cores(functions):
    return {bus_id: function[:-1] for bus_id, function in functions.items()}
