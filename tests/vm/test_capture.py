# SPDX-License-Identifier: Apache-2.0
"""A capture made in a guest and replayed here gives what the guest itself gave, and holds all that it was built of."""

import json

import pytest
from tests.cli.command import railgauge
from tests.vm.lab.board import FakeDevice, layout

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.machine import load_machine

pytestmark = pytest.mark.vm


@pytest.fixture(scope="module")
def capture(node):
    assert node.status("capture") == 0, node.err("capture")
    return str(node.folder / "node.tar.zst")


def test_the_replayed_dump_is_the_live_one_byte_for_byte(node, capture):
    replayed = railgauge("topo", "dump", "--from", capture)
    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout == node.out("dump")


def test_the_replayed_rdma_view_is_the_live_one(node, capture):
    replayed = railgauge("topo", "show", "--view", "rdma", "--json", "--from", capture)
    assert replayed.returncode == 0, replayed.stderr
    assert {**json.loads(replayed.stdout), "time": ""} == {**json.loads(node.out("rdma")), "time": ""}


def test_a_capture_is_small(node, capture):
    assert (node.folder / "node.tar.zst").stat().st_size < 1 << 20


@pytest.fixture(scope="module")
def functions(capture):
    return {function.bus_id: function for function in MachineFacts(load_machine(capture).reader).pci}


def test_every_function_is_in_the_inventory_where_it_was_built(node, functions):
    for placed in layout(node.board):
        found, identity = functions[placed.bus_id], placed.part.identity
        assert found.path == (f"pci0000:{placed.path[0][5:7]}", *placed.path)
        assert (found.vendor, found.device, found.pci_class) == (identity.vendor, identity.device, identity.pci_class)
        assert found.numa == (placed.numa if placed.numa >= 0 else None)


def test_links_are_in_the_inventory_as_they_are_and_could_be(node, functions):
    for placed in layout(node.board):
        found, link = functions[placed.bus_id].link, placed.part.link
        assert found.max_gt_per_s == link.max_gt_per_s
        assert found.max_lanes == (link.max_width if 0 < link.max_width < 255 else None)
        if isinstance(placed.part, FakeDevice):  # QEMU's own tell nothing steady about the present
            assert (found.gt_per_s, found.lanes) == (link.gt_per_s, link.width)
