# SPDX-License-Identifier: Apache-2.0
"""The judge of NVLinks: those that are down, or look so."""

from dataclasses import replace

import pytest
from tests.topo.nvlinks_down import with_nvlinks_down
from tests.topo.small_machines import SWITCHED, gpu, nvlink, topology

from railgauge.topo.link_state.verdict import Reason, Verdict
from railgauge.topo.nccl.graph.link_facts import nvlink_states


def counts(loaded, inventory=None):
    states = nvlink_states(loaded.topology, inventory or loaded.facts).values()
    return [(state.count, state.full) for state in states if state.is_fault]


@pytest.mark.parametrize(
    ("fixture", "gpus", "links", "all_links"),
    [
        ("dgx-h100", [2], 18, 18),
        ("dgx-h100", range(8), 18, 18),
        ("gb200-tray", range(4), 18, 18),
        ("a100-4gpu", range(4), 12, 12),
        ("a100-4gpu", [0], 1, 12),
        ("a100-4gpu", [0, 1], 1, 12),
    ],
)
def test_links_that_are_down_are_counted(tmp_path, fixture, gpus, links, all_links):
    found = counts(with_nvlinks_down(tmp_path, fixture, gpus, links))
    assert found == [(all_links - links, all_links)] * len(gpus)


def test_as_many_on_each_gpu_are_by_design(tmp_path):
    loaded = with_nvlinks_down(tmp_path, "dgx-h100", range(8), 1)
    states = nvlink_states(loaded.topology, loaded.facts).values()
    assert {(state.verdict, state.reason) for state in states} == {(Verdict.BY_DESIGN, Reason.LISTED)}


def test_cards_without_a_bridge_are_not_short(tmp_path):
    """NVML tells that all links of a PCIe card without a bridge are down, and nothing of other ends."""
    loaded = with_nvlinks_down(tmp_path, "pcie-switch", range(8), 12)
    assert len(counts(loaded)) == 8
    assert counts(loaded, without_ends(loaded)) == []


def test_the_nvswitches_tell_where_the_links_do_not(tmp_path):
    loaded = with_nvlinks_down(tmp_path, "dgx-h100", range(8), 18)
    bare = without_ends(loaded)
    assert len(counts(loaded, bare)) == 8
    assert counts(loaded, bare.but(pci=())) == []


def without_ends(loaded):
    """What NVML tells of the other end left out."""
    inventory = loaded.facts
    return inventory.but(
        gpus=tuple(
            replace(one, links=tuple(link._replace(remote=None, remote_kind=None) for link in one.links), fabric=None)
            for one in inventory.gpus
        ),
    )


def test_links_that_mig_turns_off_are_not_down(tmp_path):
    loaded = with_nvlinks_down(tmp_path, "dgx-h100", [2], 18)
    inventory = loaded.facts
    assert counts(loaded, inventory.but(gpus=tuple(replace(one, mig=True) for one in inventory.gpus))) == []


def test_links_that_cannot_be_read_are_not_down(tmp_path):
    loaded = with_nvlinks_down(tmp_path, "dgx-h100", range(8), 18)
    inventory = loaded.facts
    unread = tuple(replace(one, links=tuple(link._replace(up=None) for link in one.links)) for one in inventory.gpus)
    assert counts(loaded, inventory.but(gpus=unread)) == []


@pytest.mark.parametrize(("with_links", "bare", "short"), [(3, 1, 1), (2, 1, 1), (1, 1, 1), (2, 2, 2), (1, 2, 0)])
def test_in_a_file_half_of_the_gpus_of_a_host_decide_at_nvswitches(with_links, bare, short):
    cards = [gpu(f"0000:0{i}:00.0", i, SWITCHED if i < with_links else "", sm=90) for i in range(with_links + bare)]
    states = nvlink_states(topology("".join(cards))).values()
    assert [(state.count, state.full) for state in states if state.is_fault] == [(0, 18)] * short


def test_of_two_gpus_the_one_with_fewer_links_to_the_other_is_short():
    pair = gpu("0000:01:00.0", 0, nvlink("0000:02:00.0", 4)) + gpu("0000:02:00.0", 1, nvlink("0000:01:00.0", 3))
    (state,) = (state for state in nvlink_states(topology(pair)).values() if state.is_fault)
    assert (state.gpu.bus_id, state.count, state.full, state.reason) == ("0000:02:00.0", 3, 4, Reason.ONE_SIDED)
    assert state.peer is not None
    assert state.peer.bus_id == "0000:01:00.0"
