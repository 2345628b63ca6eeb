# SPDX-License-Identifier: Apache-2.0
"""Devices that go away and come back while a machine is scanned: what is told stays true, and the scan ends well."""

import json
import xml.etree.ElementTree as ET

import pytest
from tests.vm.boards import COMING_AND_GOING, NODE_SWITCH, gpus
from tests.vm.lab.board import layout
from tests.vm.xml_tree import built, told

pytestmark = pytest.mark.vm


def unsteady(board):
    """The functions that come and go: those named and all below them."""
    return {placed.bus_id for placed in layout(board) if {*placed.path} & {*COMING_AND_GOING}}


@pytest.fixture(scope="module")
def scans(node):
    return json.loads(node.out("coming_and_going"))


def test_what_stays_is_told_whole_in_every_scan(node, scans):
    steady = built(node.board, *(bus_id for bus_id in gpus(node.board) if bus_id not in unsteady(node.board)))
    for scan in scans:
        devices = told(scan["dump"])
        assert {bus_id: devices.get(bus_id) for bus_id in steady} == steady


def test_what_goes_is_told_whole_or_with_a_warning(node, scans):
    whole = built(node.board, *gpus(node.board))
    for scan in scans:
        devices = told(scan["dump"])
        partial = [bus_id for bus_id in unsteady(node.board) & {*devices} if devices[bus_id] != whole.get(bus_id)]
        for bus_id in partial:
            assert any(bus_id in warning for warning in scan["warnings"]), (bus_id, devices[bus_id], scan["warnings"])


def test_devices_were_seen_both_present_and_absent(node, scans):
    whole = built(node.board, *gpus(node.board))
    assert {told(scan["dump"]) == whole for scan in scans} == {True, False}


def test_a_removed_switch_leaves_its_gpu_without_place_and_says_so(node):
    devices = told(node.out("without"))
    (lost,) = {bus_id for bus_id in gpus(node.board) if bus_id in unsteady(node.board)} - {COMING_AND_GOING[1]}
    assert NODE_SWITCH not in devices
    assert devices[lost].parent == "cpu -1"
    assert lost in node.err("without")


def test_a_removed_nic_takes_its_rdma_device_along(node):
    names = {net.get("name") for net in ET.fromstring(node.out("without")).iter("net")}
    assert names == {"rxe0", "rxe2", "rxe3"}


def test_all_is_back_after_a_rescan(node, scans):
    assert scans[-1]["dump"] == node.out("dump")
