# SPDX-License-Identifier: Apache-2.0
"""The policy best never loses to NCCL's choice: not in the bandwidth of the search, nor, on machines that exist, in the
predicted busbw.
"""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.small_machines import gpu, machines, nvlink, topology

from railgauge.topo.channels.graph import Policy
from railgauge.topo.channels.search import search
from railgauge.topo.errors import UnavailableError
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.predict.forecast import forecast, nccl_rows
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.xml import topology_file

ROOT = Path(__file__).parents[3]
FIXTURES = sorted(file.parent.name for file in ROOT.glob("fixtures/*/machine.toml"))
SAMPLES = sorted((ROOT.parent / "shared" / "samples").glob("**/*topo*.xml")) + sorted(
    (ROOT.parent / "shared" / "samples" / "real" / "xml").glob("rccl-*.xml")
)
LARGE = 1 << 30
ROUNDING = 1e-9


def hold_against_nccl(system, nodes):
    """Both policies on one machine: `best` has at least NCCL's bandwidth, and the prediction is no lower."""
    best, nccl = hold_bandwidth(system, nodes)
    if best and len(system.gpus) * nodes > 1:
        ours, theirs = (predicted(system, graphs, nodes) for graphs in (best, nccl))
        assert ours >= theirs * (1 - ROUNDING)


def hold_bandwidth(system, nodes):
    """The graphs of both policies, where the machine has channels: `best` has at least NCCL's bandwidth."""
    if not system.gpus or (nodes > 1 and not system.nets):
        return None, None
    best, nccl = (search(system, nodes=nodes, policy=policy) for policy in (Policy.BEST, Policy.NCCL))
    for ours, theirs in ((best.ring, nccl.ring), (best.tree, nccl.tree)):
        assert ours.total(nodes) >= theirs.total(nodes) * (1 - ROUNDING)
    return best, nccl


def predicted(system, graphs, nodes):
    """GB/s of busbw of an all_reduce of 1 GiB."""
    plan = NodePlan(system=system, table=paths(system), graphs=graphs, nodes=nodes)
    return forecast(plan, Collective.ALL_REDUCE, [LARGE], read_allowed({}), nccl_rows).rows[0].busbw_gb_per_s


@settings(max_examples=40, deadline=None)
@given(machines(), st.integers(1, 2))
def test_on_random_machines(system, nodes):
    """The bandwidth alone: on odd machines trees of the same bandwidth can be predicted below NCCL's."""
    hold_bandwidth(system, nodes)


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("name", FIXTURES)
def test_on_fixtures(name, nodes):
    hold_against_nccl(load_machine(f"@{name}").system, nodes)


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_on_real_files(path, nodes):
    try:
        hold_against_nccl(build_system(topology_file.load(str(path))), nodes)
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("there", [1, 2, 5])
def test_where_nvlinks_are_fewer_one_way(there):
    """Trees send all data both ways; 13 rings of 1.538 are less than one of 20."""
    one, other = "0000:01:00.0", "0000:02:00.0"
    system = build_system(topology(gpu(one, 0, nvlink(other, there)) + gpu(other, 1, nvlink(one, 12))))
    hold_against_nccl(system, 1)
