# SPDX-License-Identifier: Apache-2.0
"""The spellings of bus ids."""

from railgauge.topo.values import busid


def test_bus_ids():
    assert busid.to_number("0000:1b:00.0") == 0x1B000
    assert busid.from_nvml("00000000:1B:00.0") == "0000:1b:00.0"
    assert busid.from_nvml("FFFFFFFF:FF:FF.0") == "fffffff:ff:ff.0"
    assert busid.is_bus_id("0000:1b:00.0")
    assert not busid.is_bus_id("pci0000:00")
