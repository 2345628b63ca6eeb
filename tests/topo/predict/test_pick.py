# SPDX-License-Identifier: Apache-2.0
"""Picks: on machines of which one knows what is best, and on random ones against all subsets."""

from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.topo.small_machines import SWITCHED, bus_of, gpu, nic, nvlink, switch, topology

from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.subset import with_gpus
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.predict.pick import pick
from railgauge.topo.predict.search import search
from railgauge.topo.render.pick import pick_lines
from railgauge.topo.xml import topology_file as xml_text


def picked(name, count, busy=(), **options):
    machine = load_machine(f"@{name}").topology
    gpus = [gpu for gpu in build_system(machine).gpus if gpu.dev in busy]
    return pick(machine, count, busy=gpus, **options)


def numbers(choice):
    return [gpu.dev for gpu in choice.gpus]


def test_a_quad_of_the_nvlink_mesh():
    found = picked("dgx-1v", 4)
    assert numbers(found.best) in ([0, 1, 2, 3], [4, 5, 6, 7])
    assert (found.best.ring_gb_per_s, found.next_best.ring_gb_per_s) == pytest.approx((80, 40), rel=1e-3)


def test_a_pair_with_two_nvlinks():
    found = picked("dgx-1v", 2, busy=(0, 3))
    assert found.best.ring_gb_per_s == 40  # two links of 20; one link has half
    assert found.best.gpus[0].dev not in (0, 3)


def test_bridged_pairs():
    assert numbers(picked("h200nvl", 2, busy=(0,)).best) == [2, 3]


def test_broken_nvlink_is_avoided():
    whole = picked("dgx-h100-nvlink-down", 4)
    assert numbers(whole.best) == [4, 5, 6, 7]
    assert "ring 350 GB/s" in "\n".join(pick_lines(whole))


def test_a_numa_node_that_is_begun_is_filled():
    assert numbers(picked("dgx-a100", 1, busy=(0, 1, 2)).best) == [3]
    assert numbers(picked("dgx-a100", 2, busy=(0, 5)).best) == [2, 3]


def test_flat_machine_takes_the_first():
    assert numbers(picked("vm-flat", 3).best) == [0, 1, 2]


def test_every_gpu():
    found = picked("gb200-tray", 4)
    assert (numbers(found.best), found.next_best, found.left_ring_gb_per_s) == ([0, 1, 2, 3], None, None)


def test_several_nodes_need_near_nics():
    near = switch("0000:10:00.0", gpu("0000:11:00.0", 1), nic("0000:12:00.0", 0))
    machine = topology(gpu("0000:0a:00.0", 0) + gpu("0000:0b:00.0", 2), near)
    assert numbers(pick(machine, 1, nodes=2).best) == [1]


def test_wrong_counts_say_what_is_free():
    for count in (0, 8):
        with pytest.raises(UsageError, match="7 of 8 GPUs are free: GPU0 GPU2"):
            picked("dgx-1v", count, busy=(1,))


def test_without_a_free_gpu_there_are_none_to_name():
    with pytest.raises(UsageError, match="0 of 8 GPUs are free: none"):
        picked("dgx-1v", 1, busy=range(8))


def test_subsets_are_counted_before_they_are_made(monkeypatch):
    monkeypatch.setattr("railgauge.topo.predict.pick.MOST_SUBSETS", 28)
    assert len(picked("dgx-1v", 2).best.gpus) == 2  # 28 pairs of 8
    with pytest.raises(UsageError, match="more than 28 subsets of 3: exclude some with --busy"):
        picked("dgx-1v", 3)


def test_machines_that_cannot_be_picked_from():
    with pytest.raises(UnavailableError, match="no GPU"):
        pick(topology(nic("0000:01:00.0", 0)), 1)
    many = "".join(gpu(f"0000:{i:02x}:00.0", i) for i in range(1, 65))
    with pytest.raises(UsageError, match="--busy"):
        pick(topology(many), 32)
    with pytest.raises(UnavailableError, match="NIC"):
        pick(topology(gpu("0000:01:00.0", 0)), 1, nodes=2)


@st.composite
def meshes(draw):
    """Up to five GPUs on up to two sockets, bare or below a switch, with NVLinks at random, or an NVSwitch."""
    size, cpus = draw(st.integers(2, 5)), draw(st.integers(1, 2))
    places = [(draw(st.integers(0, cpus - 1)), i) for i in range(size)]
    wires = dict.fromkeys(places, SWITCHED if draw(st.booleans()) else "")
    for a, b in draw(st.lists(st.sampled_from(list(combinations(places, 2))), max_size=5, unique=True)):
        count = draw(st.integers(1, 3))
        wires[a] += nvlink(bus_of(*b), count)
        wires[b] += nvlink(bus_of(*a), count)
    body = [""] * cpus
    for number, place in enumerate(places):
        made = gpu(bus_of(*place), number, wires[place], sm=draw(st.sampled_from([80, 90])))
        body[place[0]] += switch(f"000{place[0] + 1}:f{place[1]:x}:00.0", made) if draw(st.booleans()) else made
    return topology(*body)


@settings(max_examples=20, deadline=None)
@given(meshes(), st.data())
def test_no_other_subset_has_more_ring_bandwidth(machine, data):
    gpus = build_system(machine).gpus
    busy = data.draw(st.lists(st.sampled_from(gpus), max_size=len(gpus) - 2, unique=True))
    free = sorted((gpu for gpu in gpus if gpu not in busy), key=lambda gpu: gpu.dev)  # ranks are in that order
    count = data.draw(st.integers(2, len(free)))
    rings = {}
    for subset in combinations(free, count):
        try:
            rings[subset] = search(build_system(with_gpus(machine, subset))).ring
        except UnavailableError:
            continue
    assume(rings)
    found = pick(machine, count, busy=busy)
    chosen = found.best.gpus
    assert len(set(chosen)) == count
    assert set(chosen) <= set(free)
    assert set(chosen) | set(found.best.left) == set(free)
    most = max(ring.total(2 if ring.channels[0].nets else 1) for ring in rings.values())
    assert found.best.ring_gb_per_s == pytest.approx(most, rel=1e-3)  # the packing of channels is that exact
    assert found.best.ring_gb_per_s <= found.best.limit_gb_per_s * 1.001 + 0.1


def test_a_file_of_two_hosts_has_no_gpus_to_pick_among():
    one, other = xml_text.dumps(load_machine("@dgx-1v").topology).split("</cpu>", 1)
    two = one + "</cpu>" + other.replace('host_hash="0x', 'host_hash="0x1')
    with pytest.raises(UsageError, match="GPUs of several hosts"):
        pick(xml_text.loads(two.encode()), 2)
