# SPDX-License-Identifier: Apache-2.0
"""PCI functions as sysfs tells them: the way down, links now and at best, and what cannot be read."""

import pytest

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.pci_functions import best_link, read_functions

PORT, NIC, VF = "0000:15:00.0", "0000:16:00.0", "0000:16:00.1"


def function(root, chain, **texts):
    """Lay out one function below a host bridge; returns its folder."""
    folder = root / "sys/devices" / "/".join(chain)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text + "\n")
    listed = root / "sys/bus/pci/devices" / chain[-1]
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.symlink_to("/" + str(folder.relative_to(root)))
    return folder


def link(speed, width, max_speed, max_width):
    return {
        "current_link_speed": speed,
        "current_link_width": width,
        "max_link_speed": max_speed,
        "max_link_width": max_width,
    }


@pytest.fixture
def machine(tmp_path):
    gen5 = link("32.0 GT/s PCIe", "16", "32.0 GT/s PCIe", "16")
    function(tmp_path, ("pci0000:15", PORT), **gen5, numa_node="1", vendor="0x8086")
    now = link("16.0 GT/s PCIe", "8", "64.0 GT/s PCIe", "16")
    nic = function(tmp_path, ("pci0000:15", PORT, NIC), **now, **{"class": "0x020700", "vendor": "0x15b3"})
    (tmp_path / "sys/bus/pci/drivers/mlx5_core").mkdir(parents=True)
    (nic / "driver").symlink_to("/sys/bus/pci/drivers/mlx5_core")
    virtual = function(tmp_path, ("pci0000:15", PORT, VF), **link("Unknown", "0", "Unknown", "255"), numa_node="-1")
    (virtual / "physfn").symlink_to(f"../{NIC}")
    return tmp_path


def read(root):
    return {function.bus_id: function for function in read_functions(LiveReader(str(root)))}


def test_the_way_down_begins_at_the_host_bridge(machine):
    found = read(machine)
    assert found[NIC].path == ("pci0000:15", PORT, NIC)
    assert (found[NIC].parent, found[PORT].parent) == (PORT, None)
    assert (found[NIC].pci_class, found[NIC].vendor, found[NIC].device) == ("0x020700", "0x15b3", None)
    assert (found[NIC].driver, found[PORT].driver, found[VF].physfn) == ("mlx5_core", None, NIC)
    assert (found[PORT].numa, found[VF].numa) == (1, None)


def test_a_link_is_as_good_as_both_of_its_ends_can_be(machine):
    found = read(machine)
    assert best_link(found[NIC], found[PORT]) == (32.0, 16)


def test_what_a_link_does_not_tell_is_unknown(machine):
    found = read(machine)
    unknown = found[VF].link
    assert (unknown.gt_per_s, unknown.lanes, unknown.max_gt_per_s, unknown.max_lanes) == (None, None, None, None)


def test_a_function_that_vanished_is_left_out(machine):
    (machine / "sys/bus/pci/devices" / NIC).unlink()
    (machine / "sys/bus/pci/devices" / NIC).symlink_to("/sys/devices/pci0000:15/gone")
    assert NIC not in read(machine)
