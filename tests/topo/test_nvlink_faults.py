# SPDX-License-Identifier: Apache-2.0
"""Which GPUs are short of NVLinks, and which only look like it."""

from dataclasses import replace

import pytest
from tests.topo.nvlinks_down import with_nvlinks_down
from tests.topo.small_machines import SWITCHED, gpu, hosts, machine

from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nvlink_faults import short_of_nvlinks


def texts(loaded, inventory=None):
    system = build_system(loaded.topology)
    found = short_of_nvlinks(system, inventory or loaded.facts)
    return {system.node(card).bus_id: shortage.reason for card, shortage in found.items()}


@pytest.mark.parametrize(
    ("fixture", "gpus", "links", "all_links"),
    [
        ("dgx-h100", [2], 18, 18),
        ("dgx-h100", range(8), 18, 18),
        ("dgx-h100", range(8), 1, 18),
        ("gb200-tray", range(4), 18, 18),
        ("a100-4gpu", range(4), 12, 12),
    ],
)
def test_links_that_are_down_are_counted(tmp_path, fixture, gpus, links, all_links):
    found = texts(with_nvlinks_down(tmp_path, fixture, gpus, links))
    assert list(found.values()) == [f"{all_links - links} of {all_links} NVLinks are up"] * len(gpus)


def test_cards_without_a_bridge_are_not_short(tmp_path):
    """NVML tells that all links of a PCIe card without a bridge are down, and nothing of other ends."""
    loaded = with_nvlinks_down(tmp_path, "pcie-switch", range(8), 12)
    assert len(texts(loaded)) == 8
    assert texts(loaded, without_ends(loaded)) == {}


def test_the_nvswitches_tell_where_the_links_do_not(tmp_path):
    loaded = with_nvlinks_down(tmp_path, "dgx-h100", range(8), 18)
    bare = without_ends(loaded)
    assert len(texts(loaded, bare)) == 8
    assert texts(loaded, bare.but(pci=())) == {}


def without_ends(loaded):
    """What NVML tells of the other end left out."""
    inventory = loaded.facts
    return inventory.but(
        gpus=tuple(
            replace(one, links=tuple(replace(link, remote=None, remote_kind=None) for link in one.links), fabric=None)
            for one in inventory.gpus
        ),
    )


def test_links_that_are_up_but_of_no_use_are_not_down(tmp_path):
    """With MIG on there is no P2P over NVLink."""
    loaded = with_nvlinks_down(tmp_path, "dgx-h100", [2], 18)
    inventory = loaded.facts
    up = tuple(
        replace(one, links=tuple(replace(link, up=True, p2p=False) for link in one.links)) for one in inventory.gpus
    )
    assert texts(loaded, inventory.but(gpus=up)) == {}


def test_links_that_cannot_be_read_are_not_down(tmp_path):
    loaded = with_nvlinks_down(tmp_path, "dgx-h100", range(8), 18)
    inventory = loaded.facts
    unread = tuple(replace(one, links=tuple(replace(link, up=None) for link in one.links)) for one in inventory.gpus)
    assert texts(loaded, inventory.but(gpus=unread)) == {}


def test_a_topology_file_tells_by_siblings_on_one_host():
    cards = gpu("0000:01:00.0", 0, SWITCHED, sm=90) + gpu("0000:02:00.0", 1, sm=90)
    assert [s.reason for s in short_of_nvlinks(machine(cards)).values()] == ["0 of 18 NVLinks are up"]
    apart = (gpu("0000:01:00.0", 0, SWITCHED, sm=90), gpu("0000:01:00.0", 0, sm=90, rank=1))
    assert short_of_nvlinks(hosts(*apart)) == {}
