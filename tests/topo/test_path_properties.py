# SPDX-License-Identifier: Apache-2.0
"""What must hold for the paths of any machine."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.small_machines import machines

from railgauge.topo.nccl.graph.model import PATH_TYPES, NodeKind
from railgauge.topo.nccl.paths.explanation import explain
from railgauge.topo.nccl.paths.paths import paths, plain_paths
from railgauge.topo.nccl.settings.levels import MEANING, read_levels
from railgauge.topo.render.paths import describe, explained

RANK = {name: rank for rank, name in enumerate(PATH_TYPES)}
SETTINGS = st.dictionaries(
    st.sampled_from(sorted(MEANING)), st.sampled_from(["0", "1", "2", "LOC", "PIX", "SYS", "ALL"])
)


@settings(max_examples=25, deadline=None)
@given(machines())
def test_plain_paths_are_as_near_both_ways(system):
    table = plain_paths(system)
    ends = [node.id for node in (*system.gpus, *system.nets)]
    for a in ends:
        for b in ends:
            there, back = table.get(a, b), table.get(b, a)
            assert there.type == back.type != "DIS"


@settings(max_examples=25, deadline=None)
@given(machines(), SETTINGS)
def test_a_path_is_its_links(system, chosen):
    for a, b, path in paths(system, levels=read_levels(chosen)):
        if path.type == "DIS":
            assert (path.links, path.gb_per_s) == ((), 0.0)
            continue
        assert path.hops == len(path.links) == len(path.via)
        stops = [a, *path.via]
        assert stops[-1] == b
        assert [(link.source, link.target) for link in path.links] == list(pairwise(stops))
        assert path.gb_per_s == min((link.gb_per_s for link in path.links), default=5000.0)


@settings(max_examples=25, deadline=None)
@given(machines(), st.booleans())
def test_what_is_kept_holds_rank_0_and_all_that_it_reaches(system, p2p):
    table = paths(system, p2p=p2p)
    assert {gpu.id for gpu in system.gpus if gpu.rank == 0} <= set(table.kept)
    order = [gpu.id for gpu in system.gpus]
    for g, gpu in enumerate(order):
        near = [table.get(gpu, other).type != "NET" for other in order[:g] if other in table.kept]
        assert g == 0 or any(near) == (gpu in table.kept)


@settings(max_examples=25, deadline=None)
@given(machines(), st.booleans(), SETTINGS)
def test_without_p2p_a_path_passes_a_cpu(system, p2p, chosen):
    table = paths(system, p2p=p2p, levels=read_levels(chosen))
    for a in system.gpus:
        for b in system.gpus:
            if not table.peer_access(a.id, b.id).allowed:
                assert any(stop.startswith("CPU/") for stop in table.get(a.id, b.id).via)


@settings(max_examples=30, deadline=None)
@given(machines(), SETTINGS)
def test_a_relay_is_near_the_nic_has_nvlink_and_gains(system, chosen):
    levels = read_levels(chosen)
    table, without = (
        paths(system, levels=levels),
        paths(system, levels=read_levels({**chosen, "NCCL_PXN_DISABLE": "1"})),
    )
    for a, b, path in table:
        if path.type == "PXN":
            relay = table.gpu_direct(a, b, sending=True).relay
            assert relay is not None
            assert relay in path.via
            assert table.wired(relay, a).type == "NVL"
            assert RANK[table.get(relay, b).type] <= RANK["P2C" if levels.pxn_c2c else "PXB"]
            assert table.gpu_direct(relay, b, sending=True).on
    assert all(path.type != "PXN" for _, _, path in without)


@settings(max_examples=20, deadline=None)
@given(machines(), SETTINGS)
def test_every_path_has_an_explanation(system, chosen):
    table = paths(system, levels=read_levels(chosen))
    for a, b, path in table:
        found = explain(system, table, a, b)
        lines = describe(found).splitlines()
        assert f": {path.type}, {path.hops} hop" in lines[0]
        assert len([line for line in lines if "<- limits" in line]) == len(found.limits)
        assert explained(found)["why"]
        kinds = {system.node(end).kind for end in (a, b)}
        assert (found.sending is not None) == (kinds == {NodeKind.GPU, NodeKind.NET})
        assert (found.peer is not None) == (kinds == {NodeKind.GPU} and a != b)


@settings(max_examples=15, deadline=None)
@given(machines())
def test_the_network_takes_no_path_where_it_may_not(system):
    levels = read_levels({"NCCL_NET_DISABLE_INTRA": "1"})
    assert all(path.type != "NET" for _, _, path in paths(system, levels=levels))
