# SPDX-License-Identifier: Apache-2.0
"""Tries the file of a VM: the linter's findings, and the paths that NCCL sees with it."""

from collections import Counter

from railgauge.topo.facts.reader import Reader
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rules import lint
from railgauge.topo.machine import inspected
from railgauge.topo.nccl.detect.scan import scan
from railgauge.topo.nccl.graph.model import PATH_TYPES
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.vm.make import Made
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.topology import Topology

NAME = "the new file"


def faults(made: Made) -> tuple[Finding, ...]:
    """The linter's findings on the file alone: the VM hides what it could be compared with."""
    found = lint(inspected(made.text.encode(), NAME))
    return tuple(finding for finding in found if finding.level in (Level.WARN, Level.FAIL))


def reach(topology: Topology) -> Counter[str]:
    """The number of pairs of a GPU and a NIC by path type, nearest first."""
    system = build_system(topology)
    table = paths(system)
    found = Counter(table.get(gpu.id, net.id).type for gpu in system.gpus for net in system.nets)
    return Counter({kind: found[kind] for kind in PATH_TYPES if found[kind]})


def tried(made: Made, reader: Reader) -> Topology:
    """The VM's topology as NCCL sees it with the file."""
    return scan(reader, {}, topo_file=topology_file.loads(made.text, NAME)).topology
