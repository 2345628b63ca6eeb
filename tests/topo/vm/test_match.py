# SPDX-License-Identifier: Apache-2.0
"""Which device of the host a guest's device is found to be, and when that is a guess."""

import pytest

from railgauge.topo.errors import UsageError
from railgauge.topo.vm.device import VmDevice
from railgauge.topo.vm.match import by_hand, matched, unmatched

CARD = (("GUID of the card", "0x7"),)
H100, CX7, CX7_VF = "0x2330", "0x1021", "0x101e"


def device(kind, bus, *, place=None, model=None, vendor=None, **facts):
    vendor = vendor or {"GPU": "0x10de", "NIC": "0x15b3"}[kind]
    bus_id = f"0000:{bus}.0" if "." not in bus else f"0000:{bus}"
    ids = (vendor, model or {"GPU": H100, "NIC": CX7}[kind], "0x1", "0x2")
    return VmDevice(kind=kind, bus_id=bus_id, ids=ids, place=place or bus_id, **facts)


def pairs(matches):
    return {match.guest.bus_id[5:10]: match.host.bus_id[5:10] for match in matches}


def test_what_identifies_a_device_counts_before_its_order():
    guests = [device("GPU", "05:00", marks=(("UUID", "b"),)), device("GPU", "06:00", marks=(("UUID", "a"),))]
    hosts = [device("GPU", "1b:00", marks=(("UUID", "a"),)), device("GPU", "43:00", marks=(("UUID", "b"),))]
    found = matched(guests, hosts)
    assert pairs(found) == {"05:00": "43:00", "06:00": "1b:00"}
    assert {(match.by, match.guess) for match in found} == {("UUID", False)}


def test_equal_devices_without_marks_are_taken_in_order_which_is_a_guess():
    found = matched([device("NIC", "0e:00"), device("NIC", "0d:00")], [device("NIC", "40:00"), device("NIC", "18:00")])
    assert pairs(found) == {"0d:00": "18:00", "0e:00": "40:00"}
    assert all(match.guess for match in found)


def test_the_only_one_of_a_model_is_no_guess():
    (match,) = matched([device("GPU", "05:00")], [device("GPU", "1b:00"), device("NIC", "18:00")])
    assert (match.host.bus_id, match.guess) == ("0000:1b:00.0", False)


def test_what_is_passed_to_guests_is_looked_at_alone():
    hosts = [device("GPU", "1b:00"), device("GPU", "43:00", passed=True)]
    (match,) = matched([device("GPU", "05:00")], hosts)
    assert (match.host.bus_id, match.guess) == ("0000:43:00.0", False)


def test_another_model_is_not_found():
    guests, hosts = [device("GPU", "05:00", model="0x2335")], [device("GPU", "1b:00")]
    assert matched(guests, hosts) == ()
    assert unmatched(guests, []) == tuple(guests)


def test_a_bridged_nic_with_the_hosts_mac_is_not_the_hosts():
    virtio = device("NIC", "01:00", vendor="0x1af4", marks=(("MAC", "a0:88:c2:00:01:00"),))
    assert matched([virtio], [device("NIC", "18:00", marks=virtio.marks)]) == ()


def test_a_virtual_function_is_found_by_its_card_and_has_its_parents_place():
    parent = device("NIC", "18:00", cards=CARD)
    virtual = device("NIC", "18:00.2", place=parent.bus_id, model=CX7_VF)
    guests = [device("NIC", "0d:00", cards=CARD, model=CX7_VF), device("NIC", "0e:00", cards=CARD, model=CX7_VF)]
    found = matched(guests, [parent, virtual])
    assert [(match.host.place, match.guess) for match in found] == [(parent.bus_id, False)] * 2


def test_both_ports_of_a_card_find_theirs_by_its_serial_number():
    serial = (("serial number", "001b21ff00a0c9ff"),)
    guests = [device("NIC", "0d:00", cards=serial), device("NIC", "0e:00", cards=serial)]
    hosts = [device("NIC", "18:00.0", cards=serial), device("NIC", "18:00.1", cards=serial), device("NIC", "40:00")]
    found = matched(guests, hosts)
    assert [match.host.bus_id for match in found] == ["0000:18:00.0", "0000:18:00.1"]
    assert {(match.by, match.guess) for match in found} == {("serial number", False)}


@pytest.mark.parametrize(("ports", "guess"), [(1, False), (2, True)])
def test_virtual_functions_of_one_port_are_all_at_its_place(ports, guess):
    hosts = [
        device("NIC", f"{18 + port}:00.{number}", place=f"0000:{18 + port}:00.0", model=CX7_VF)
        for port in range(ports)
        for number in (2, 3)
    ]
    guests = [device("NIC", "0d:00", model=CX7_VF), device("NIC", "0e:00", model=CX7_VF)]
    assert [match.guess for match in matched(guests, hosts)] == [guess] * 2


def test_by_hand_wins_over_what_identifies():
    guests = [device("GPU", "05:00", names=("GPU0",), marks=(("UUID", "a"),))]
    hosts = [device("GPU", "1b:00", marks=(("UUID", "a"),)), device("GPU", "43:00")]
    (match,) = matched(guests, hosts, by_hand(["GPU0=43:00.0"], guests, hosts))
    assert (match.host.bus_id, match.by) == ("0000:43:00.0", "--match")


@pytest.mark.parametrize("text", ["GPU0", "GPU9=1b:00.0", "GPU0=77:00.0", "GPU0=18:00.0", "GPU0="])
def test_pairs_that_there_are_not_are_refused(text):
    guests = [device("GPU", "05:00", names=("GPU0",))]
    hosts = [device("GPU", "1b:00"), device("NIC", "18:00")]
    with pytest.raises(UsageError, match="--match"):
        by_hand([text], guests, hosts)


@pytest.mark.parametrize("second", ["0000:05:00.0=43:00.0", "06:00.0=1b:00.0"])
def test_a_gpu_is_one_gpu(second):
    guests, hosts = ([device("GPU", bus) for bus in side] for side in (("05:00", "06:00"), ("1b:00", "43:00")))
    with pytest.raises(UsageError, match="already"):
        by_hand(["05:00.0=1b:00.0", second], guests, hosts)


def test_a_nic_of_another_vendor_is_no_function_of_the_card():
    virtio = device("NIC", "01:00", vendor="0x1af4", cards=CARD)
    assert matched([virtio], [device("NIC", "18:00", cards=CARD)]) == ()
