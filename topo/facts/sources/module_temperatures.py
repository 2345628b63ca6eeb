# SPDX-License-Identifier: Apache-2.0
"""Temperatures of NICs and of the optical modules in them, where the driver shows them (hwmon; mlx5 since Linux 6.7).

Kernel: Documentation/hwmon/sysfs-interface.rst; in 1/1000 of a degree Celsius.
"""

from typing import NamedTuple

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS
from railgauge.topo.values.number import natural, whole


class ModuleTemperature(NamedTuple):
    """One sensor of an RDMA device: "asic", or a module by name. critical_mc: None where the driver gives no limit."""

    device: str
    sensor: str
    now_mc: int
    critical_mc: int | None


def read_module_temperatures(reader: Reader) -> tuple[ModuleTemperature, ...]:
    """All sensors of all RDMA devices; none where drivers show none."""
    return tuple(
        sensor
        for device in sorted(reader.entries(CLASS), key=natural)
        for monitor in reader.entries(f"{CLASS}/{device}/device/hwmon")
        for sensor in _sensors(reader, device, f"{CLASS}/{device}/device/hwmon/{monitor}")
    )


def _sensors(reader: Reader, device: str, folder: str) -> list[ModuleTemperature]:
    names = [name.removesuffix("_input") for name in reader.entries(folder) if name.endswith("_input")]
    found = []
    for name in sorted(names, key=natural):
        now = whole(reader.text(f"{folder}/{name}_input"))
        if name.startswith("temp") and now is not None:
            critical = whole(reader.text(f"{folder}/{name}_crit"))
            label = reader.text(f"{folder}/{name}_label") or name
            found.append(ModuleTemperature(device=device, sensor=label, now_mc=now, critical_mc=critical))
    return found
