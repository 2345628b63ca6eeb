# SPDX-License-Identifier: Apache-2.0
"""Edits of a machine: what they change, what stays, and what they refuse."""

from dataclasses import replace

import pytest

from railgauge.topo.compare.what_if import edited, on_gpus
from railgauge.topo.errors import UsageError
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.ends import find_end
from railgauge.topo.nccl.graph.model import LinkKind
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import plain_paths
from railgauge.topo.xml.tree import thaw


@pytest.fixture(scope="module")
def dgx():
    return load_machine("@dgx-h100").topology


@pytest.fixture(scope="module")
def mesh():
    return load_machine("@dgx-1v").topology


def links_of_nic(system, name):
    nic = next(link.source for link in system.links if link.target == find_end(system, name).id)
    return {link.kind: link.gb_per_s for link in system.links_of(nic)}


def nvlinks(system, gpu):
    card = system.links_of(find_end(system, gpu).id)[0].target
    return {link.target: link.gb_per_s for link in system.links_of(card) if link.kind is LinkKind.NVL}


def test_a_machine_without_edits_is_the_same(dgx):
    assert edited(dgx) == dgx


def test_the_machine_given_stays_as_it_was(dgx):
    before = build_system(dgx)
    edited(dgx, ["NIC3.width=8"], ["GPU7"])
    assert build_system(dgx) == before


def test_a_nic_of_half_the_lanes_has_half_the_bandwidth(dgx):
    assert links_of_nic(build_system(dgx), "NIC3")[LinkKind.PCI] == 48
    system = build_system(edited(dgx, ["NIC3.max_width=8"]))
    assert links_of_nic(system, "NIC3")[LinkKind.PCI] == 24
    assert links_of_nic(system, "NIC4")[LinkKind.PCI] == 48


@pytest.mark.parametrize("speed", ["16 GT/s", "16.0 GT/s PCIe", "gen4"])
def test_a_gpu_of_gen4_has_half_the_bandwidth_of_gen5(dgx, speed):
    system = build_system(edited(dgx, [f"GPU3.speed={speed}"]))
    card = system.links_of(find_end(system, "GPU3").id)[0].target
    assert [(link.gb_per_s, link.real_gb_per_s) for link in system.links_of(card) if link.kind is LinkKind.PCI] == [
        (48, 24)
    ]


def test_the_slowest_generation_can_be_set_too(dgx):
    system = build_system(edited(dgx, ["NIC3.max_speed=2.5 GT/s"]))
    assert links_of_nic(system, "NIC3")[LinkKind.PCI] == pytest.approx(3)


def test_a_link_that_runs_narrower_is_planned_as_before(dgx):
    (slow, _) = build_system(edited(dgx, ["NIC3.width=8"])).slow
    assert (slow.gb_per_s, slow.real_gb_per_s, slow.now) == (48, 24, "32.0 GT/s x8")
    planned = replace(edited(dgx, ["NIC3.width=8"]), now={})
    assert build_system(planned) == build_system(dgx)
    assert build_system(edited(dgx, ["NIC3.width=8", "NIC3.width=16"])) == build_system(dgx)


def test_a_link_that_runs_faster_than_planned_can_do_as_much(dgx):
    system = build_system(edited(dgx, ["NIC3.max_width=8", "NIC3.width=16"]))
    assert (links_of_nic(system, "NIC3")[LinkKind.PCI], system.slow) == (48, ())


def test_a_gpu_without_nvlinks_gets_those_of_its_siblings(dgx):
    bare = edited(dgx, ["GPU0.nvlinks=0"])
    assert nvlinks(build_system(bare), "GPU0") == {}
    assert nvlinks(build_system(edited(bare, ["GPU0.nvlinks=18"])), "GPU0") == nvlinks(build_system(dgx), "GPU0")


@pytest.mark.parametrize(("name", "full"), [("a100-4gpu", 12), ("dgx-1v", 6)])
def test_a_gpu_of_a_mesh_gets_the_nvlinks_that_the_others_lack_or_have_to_it(name, full):
    whole = load_machine(f"@{name}").topology
    system = build_system(whole)
    cards = {system.links_of(gpu.id)[0].target: f"GPU{gpu.dev}" for gpu in system.gpus}
    pairs = [cards[target] for target in nvlinks(system, "GPU2")]
    cut = edited(whole, [], [f"nvlink:GPU2-{other}" for other in pairs])
    assert nvlinks(build_system(cut), "GPU2") == {}
    assert links(edited(cut, [f"GPU2.nvlinks={full}"])) == links(whole)
    assert links(edited(whole, [f"GPU2.nvlinks={full}"])) == links(whole)
    one_sided = without_links(whole, "GPU2")
    assert links(edited(one_sided, [f"GPU2.nvlinks={full}"])) == links(whole)
    twice = edited(cut, [], [f"nvlink:GPU0-GPU{1 if name == 'a100-4gpu' else 3}"])
    with pytest.raises(UsageError, match="tell where its missing links lead"):
        edited(twice, [f"GPU2.nvlinks={full}"])


def links(topology):
    system = build_system(topology)
    return {gpu.id: nvlinks(system, f"GPU{gpu.dev}") for gpu in system.gpus}


def without_links(topology, name):
    """The topology whose GPU of that name lists no NVLinks, while others have theirs to it."""
    root = thaw(topology.root)
    gpu = next(one for one in root.walk() if one.name == "gpu" and f"GPU{one.get('dev')}" == name)
    gpu.children = [one for one in gpu.children if one.name != "nvlink"]
    return replace(topology, root=root.freeze())


def test_a_nic_has_the_rate_that_is_set(dgx):
    assert links_of_nic(build_system(edited(dgx, ["NIC3.rate=200"])), "NIC3")[LinkKind.NET] == 25


def test_a_switch_is_named_by_its_bus_id(dgx):
    switch = next(node for node in build_system(dgx).nodes if node.kind == "PCI")
    system = build_system(edited(dgx, [f"{switch.bus_id}.width=4"]))
    assert min(link.real_gb_per_s for link in system.links_of(switch.id)) == 12


def test_gpudirect_can_go(dgx):
    assert find_end(build_system(edited(dgx, ["NIC3.gdr=0"])), "NIC3").gdr is False


def test_what_is_dropped_is_gone_and_the_rest_keeps_its_names(dgx):
    system = build_system(edited(dgx, drops=["NIC3", "GPU2"]))
    assert 3 not in [net.dev for net in system.nets]
    assert [gpu.dev for gpu in system.ranks] == [0, 1, 3, 4, 5, 6, 7]


def test_drops_are_named_as_before_all_of_them(dgx):
    system = build_system(edited(dgx, drops=["GPU0", "GPU1"]))
    assert [gpu.dev for gpu in system.ranks] == [2, 3, 4, 5, 6, 7]


def test_links_between_two_gpus_go_both_ways(mesh):
    before, after = build_system(mesh), build_system(edited(mesh, drops=["nvlink:GPU0-GPU3"]))
    assert len(nvlinks(after, "GPU0")) == len(nvlinks(before, "GPU0")) - 1
    assert len(nvlinks(after, "GPU3")) == len(nvlinks(before, "GPU3")) - 1
    ends = [find_end(after, name).id for name in ("GPU0", "GPU3")]
    assert plain_paths(after).get(*ends).type == "NVB"


def test_one_link_to_the_switch_goes_at_a_time(dgx):
    once = build_system(edited(dgx, drops=["nvlink:GPU0"]))
    twice = build_system(edited(dgx, drops=["nvlink:GPU0", "nvlink:GPU0"]))
    assert sum(nvlinks(once, "GPU0").values()) == pytest.approx(17 * 20.6)
    assert sum(nvlinks(twice, "GPU0").values()) == pytest.approx(16 * 20.6)
    assert nvlinks(build_system(edited(dgx, ["GPU0.nvlinks=16"])), "GPU0") == nvlinks(twice, "GPU0")


@pytest.mark.parametrize(
    ("sets", "drops", "says"),
    [
        (["NIC2.lanes=8"], [], "width, speed, rate"),
        (["NIC99.width=8"], [], "unknown end 'NIC99'"),
        (["NIC2.width=7"], [], "a width of 1, 2, 4"),
        (["NIC2.speed=17 GT/s"], [], "16.0 GT/s"),
        (["GPU2.rate=200"], [], "rate needs a NIC"),
        (["NIC2.rate=0"], [], "from 1 to"),
        (["GPU2.gdr=maybe"], [], "0 or 1"),
        (["GPU2.nvlinks=19"], [], "up to its 18"),
        (["CPU0.width=8"], [], "only GPUs, NICs and PCI switches"),
        ([], ["NIC99"], "unknown end 'NIC99'"),
        ([], ["NIC3", "NIC3"], "NIC3/mlx5_3 is dropped already"),
        ([], ["NVS"], "only GPUs, NICs and PCI switches"),
        ([], ["nvlink:GPU0-GPU1"], "on NVSwitches"),
        ([], ["nvlink:NIC0"], "only GPUs have NVLinks"),
        ([], ["nvlink:GPU0-GPU1-GPU2"], "nvlink:GPU3-GPU5"),
    ],
)
def test_unknown_names_and_values_are_usage_errors(dgx, sets, drops, says):
    with pytest.raises(UsageError, match=says):
        edited(dgx, sets, drops)


def test_a_mesh_wants_both_ends_named(mesh):
    with pytest.raises(UsageError, match="name both ends"):
        edited(mesh, drops=["nvlink:GPU0"])


def test_edits_of_gpus_are_told_from_others(dgx):
    assert on_gpus(dgx, ["NIC2.width=8", "GPU3.gdr=0"], ["NIC1", "nvlink:GPU0", "GPU7"]) == (
        "--set GPU3.gdr=0", "--drop nvlink:GPU0", "--drop GPU7",
    )  # fmt: skip
