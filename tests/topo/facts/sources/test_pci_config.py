# SPDX-License-Identifier: Apache-2.0
"""Configuration spaces, made byte by byte after the PCI Express specification."""

from pathlib import Path

import pytest

from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.pci_config import decode, live_pci_config, read_pci_config


def config(size=4096, *, acs=None, device_control=0x10, port=6) -> bytes:
    """A function with a power-management capability before the PCI Express one, and AER before ACS."""
    space = bytearray(4096)
    space[0:4] = b"\x00\x10\x30\xc0"
    space[6], space[0x34] = 0x10, 0x40
    space[0x40:0x42] = b"\x01\x68"
    space[0x68:0x72] = bytes([0x10, 0, 2 | port << 4, 0, 0, 0, 0, 0, *device_control.to_bytes(2, "little")])
    space[0x100:0x104] = (0x0001 | 1 << 16 | 0x158 << 20).to_bytes(4, "little")
    if acs is not None:
        space[0x158:0x15C] = (0x000D | 1 << 16).to_bytes(4, "little")
        space[0x15E:0x160] = acs.to_bytes(2, "little")
    return bytes(space[:size])


def test_the_control_word_of_acs_and_the_port_are_found():
    assert decode(config(acs=0x1D)) == {"size": 4096, "port": 6, "acs": 0x1D, "relaxed_ordering": 1, "serial": None}


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(0x00A0C9FF, 0x001B21FF, "001b21ff00a0c9ff"), (0, 0, None), (0xFFFFFFFF, 0xFFFFFFFF, None)],
)
def test_the_serial_number_is_found_behind_other_capabilities(low, high, found):
    space = bytearray(config(acs=0x1D))
    space[0x15A:0x15C] = (1 | 0x180 << 4).to_bytes(2, "little")
    space[0x180:0x18C] = b"".join(number.to_bytes(4, "little") for number in (0x0003 | 1 << 16, low, high))
    assert (decode(bytes(space))["serial"], decode(bytes(space))["acs"]) == (found, 0x1D)


def test_a_function_without_acs_has_none():
    assert decode(config())["acs"] is None


@pytest.mark.parametrize(("bit", "found"), [(0x10, 1), (0x2810, 1), (0x2800, 0)])
def test_relaxed_ordering_is_a_bit_of_device_control(bit, found):
    assert decode(config(device_control=bit))["relaxed_ordering"] == found


def test_what_anyone_may_read_tells_nothing():
    assert decode(config(64, acs=0x1D)) == {
        "size": 64,
        "port": None,
        "acs": None,
        "relaxed_ordering": None,
        "serial": None,
    }


def test_the_legacy_part_tells_relaxed_ordering_alone():
    assert decode(config(256, acs=0x1D)) == {"size": 256, "port": 6, "acs": None, "relaxed_ordering": 1, "serial": None}


def test_a_device_that_fell_off_the_bus_tells_nothing():
    assert decode(b"\xff" * 4096) == {"size": 4096, "port": None, "acs": None, "relaxed_ordering": None, "serial": None}


def test_lists_that_run_in_a_circle_end():
    space = bytearray(config())
    space[0x41] = 0x40
    space[0x100:0x104] = (0x0001 | 1 << 16 | 0x100 << 20).to_bytes(4, "little")
    assert decode(bytes(space)) == {"size": 4096, "port": None, "acs": None, "relaxed_ordering": None, "serial": None}


def test_bridges_gpus_and_nics_of_a_tree_are_read(tmp_path: Path):
    for name, kind, data in (("0000:01:00.0", "0x060400", config(acs=0x1D)), ("0000:02:00.0", "0x010802", config())):
        folder = tmp_path / "sys/bus/pci/devices" / name
        folder.mkdir(parents=True)
        (folder / "class").write_text(f"{kind}\n")
        (folder / "config").write_bytes(data)
    found = read_pci_config(live_pci_config(LiveReader(str(tmp_path))))
    assert list(found) == ["0000:01:00.0"]
    assert found["0000:01:00.0"].whole
    assert found["0000:01:00.0"].acs == 0x1D
