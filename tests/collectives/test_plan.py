# SPDX-License-Identifier: Apache-2.0
"""Nodes joined into one plan: whatever the order of the ranks, each ring visits all and each step says how."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.collectives.fake_machines import QUIET, node, over_ib
from tests.collectives.wiring import everybody
from tests.gpu.fake_gpus import bus_ids, topology
from tests.transports.ranks import on_ranks

from railgauge.collectives.joined_nodes import join_nodes
from railgauge.collectives.node_detection import detect_node
from railgauge.collectives.plan import make_plan, nodes_of
from railgauge.topo.errors import UsageError
from railgauge.transports.peer import this_peer

LO = {"lo": 10_000}


def peers_on(hosts: list[str], **facts):
    here = replace(this_peer(0), settings={})
    return [replace(here, rank=rank, host=host, host_id=host, **facts) for rank, host in enumerate(hosts)]


def plan_of(folder, hosts: list[str], nics: dict[str, dict[str, int]] | None = None, **facts):
    """The plan of ranks on those hosts, rank by rank."""
    peers = peers_on(hosts, **facts)
    nodes = nodes_of(peers)
    names = [hosts[ranks[0]] for ranks in nodes]
    described = [
        node(folder, name, len(ranks), len(nodes), (nics or {}).get(name, LO))
        for name, ranks in zip(names, nodes, strict=True)
    ]
    return join_nodes(nodes, described, peers)


def test_ranks_dealt_out_by_node_stay_together_in_the_ring(tmp_path):
    plan = plan_of(tmp_path, ["a", "b", "a", "b"])
    assert plan.nodes == 2
    for ring, transports in zip(plan.rings, plan.transports, strict=True):
        assert sorted(ring) == [0, 1, 2, 3]
        assert {frozenset(ring[:2]), frozenset(ring[2:])} == {frozenset({0, 2}), frozenset({1, 3})}
        assert transports == ["SHM", "NET/Socket/0"] * 2


def test_nodes_of_different_sizes_and_nics_are_joined(tmp_path):
    nics = {"a": LO, "b": {"mlx5_0": 100_000, "lo": 10_000}, "c": {}}
    plan = plan_of(tmp_path, ["a", "a", "b", "b", "b", "c"], nics)
    assert plan.nodes == 3
    assert all(transports.count("NET/Socket/0") == 3 for transports in plan.transports)
    assert 0 < plan.gb_per_s <= 1.25  # host a has no more


def test_a_gpus_nic_is_the_one_below_its_switch(tmp_path):
    file = tmp_path / "topology.xml"
    file.write_text(topology(2, nics=("mlx5_1", "mlx5_0")))
    environ, network = {"NCCL_TOPO_FILE": str(file)}, over_ib((0,), (1,))
    described = [
        replace(detect_node(name, 2, 2, None, QUIET, environ, bus_ids(2), network), domains=[f"{name}/1", f"{name}/2"])
        for name in "ab"
    ]
    peers = peers_on(["a", "b", "a", "b"])
    plan = join_nodes(nodes_of(peers), described, peers, network.name)
    assert plan.nics == [1, 1, 0, 0]
    assert plan.domains == ["a/1", "b/1", "a/2", "b/2"]
    assert plan.part([3, 0]).domains == ["b/2", "a/1"]
    assert [{one.device for one in gpu if one.sends and one.receives} for gpu in plan.direct] == [{1}, {1}, {0}, {0}]


def test_a_plan_over_rdma_names_nics_by_their_numbers(tmp_path):
    peers = peers_on(["a", "b"])
    nics = {"mlx5_0": 200_000, "mlx5_1": 200_000}
    described = [
        node(tmp_path, "a", 1, 2, nics, network=over_ib((0, 1))),
        node(tmp_path, "b", 1, 2, {"mlx5_0": 400_000}, network=over_ib((0,))),
    ]
    plan = join_nodes([[0], [1]], described, peers, "NET/IB")
    assert {tuple(transports) for transports in plan.transports} == {("NET/IB/2", "NET/IB/0")}
    assert {tuple(step) for steps in plan.nets for step in steps} == {(2, 0), (0, 2)}


def test_ranks_that_disable_shm_meet_over_sockets_within_a_node(tmp_path):
    plan = plan_of(tmp_path, ["a", "a"], settings={"NCCL_SHM_DISABLE": "1"})
    assert plan.transports == [["NET/Socket/0"] * 2] * len(plan.rings)


def test_a_rank_alone_has_no_steps(tmp_path):
    plan = plan_of(tmp_path, ["a"])
    assert plan.rings[0] == [0]
    assert plan.nets[0] == []


@settings(deadline=None, max_examples=10)
@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12))
def test_every_ring_is_one_and_every_step_goes_as_its_ends_are_placed(tmp_path_factory, hosts):
    plan = plan_of(tmp_path_factory.mktemp("nodes"), hosts)
    assert len(plan.cpus) == len(hosts)
    for ring, nets in zip(plan.rings, plan.nets, strict=True):
        assert sorted(ring) == list(range(len(hosts)))
        steps = zip(ring, [*ring[1:], ring[0]], nets, strict=True) if len(hosts) > 1 else []
        for source, target, step in steps:
            assert (step is None) == (hosts[source] == hosts[target])


def test_each_rank_gets_the_cores_of_its_place_on_its_own_node(tmp_path):
    plan = plan_of(tmp_path, ["a", "b", "a", "b", "b"])
    alone = {name: node(tmp_path, name, size, 2, LO).cpus for name, size in (("a", 2), ("b", 3))}
    assert plan.cpus == [alone["a"][0], alone["b"][0], alone["a"][1], alone["b"][1], alone["b"][2]]


def test_channels_searched_for_one_node_alone_cannot_be_joined(tmp_path):
    peers = peers_on(["a", "b"])
    with pytest.raises(UsageError, match="no NICs: search them with --nodes 2"):
        join_nodes([[0], [1]], [node(tmp_path, name, 1, 1, LO) for name in "ab"], peers)


def test_all_ranks_get_the_same_plan():
    plans = on_ranks(3, lambda bootstrap: make_plan(bootstrap, everybody(bootstrap), None, QUIET, {}))
    assert plans[0] == plans[1] == plans[2]
    assert plans[0].transports == [["SHM"] * 3] * len(plans[0].rings)


def test_what_one_node_cannot_do_ends_the_others_too(tmp_path):
    def body(bootstrap):
        try:
            return make_plan(bootstrap, everybody(bootstrap), str(tmp_path / "nosuch.txt"), QUIET, {})
        except BaseException as error:
            bootstrap.fail(str(error))
            raise

    errors = on_ranks(2, body)
    assert all("nosuch.txt" in str(error) for error in errors)
