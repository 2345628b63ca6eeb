# SPDX-License-Identifier: Apache-2.0
"""PCI devices from /sys/bus/pci/devices: identity, link speed and the way up to the CPU, with NCCL's reading of each.

NCCL's functions: `getPciPath`, `ncclTopoGetXmlFromSys` (src/graph/xml.cc).
"""

import re
from dataclasses import dataclass

from railgauge.topo.busid import is_bus_id
from railgauge.topo.sources.number import whole
from railgauge.topo.sources.reader import Reader

DEVICES = "/sys/bus/pci/devices"
IDENTITY = ("class", "vendor", "device", "subsystem_vendor", "subsystem_device")
NVIDIA = "0x10de"
DISPLAY_CLASS = "0x03"  # VGA and 3D controllers: what a GPU is
SWITCH_LINKS = "/sys/kernel/pci_switch_link/virtual_switch_links"  # Broadcom's driver: peers of a split switch
BROADCOM = "0x1000"


@dataclass(frozen=True, slots=True, kw_only=True)
class PciDevice:
    """One device: its attributes as NCCL writes them, and the bus id of the switch above it (None: a CPU root)."""

    bus_id: str
    attributes: tuple[tuple[str, str], ...]
    parent: str | None
    numa_node: str
    peers: tuple[str, ...]

    def get(self, key: str) -> str | None:
        """An attribute's text, or None."""
        return dict(self.attributes).get(key)


def read_device(reader: Reader, bus_id: str) -> PciDevice | None:
    """Read one device; None when sysfs does not know it."""
    path = device_path(reader, bus_id)
    if path is None:
        return None
    attributes = [(name, text) for name in IDENTITY if (text := reader.text(f"{path}/{name}")) is not None]
    attributes += [("link_speed", link_speed(reader, path)), ("link_width", str(link_width(reader, path)))]
    vendor = dict(attributes).get("vendor")
    return PciDevice(
        bus_id=bus_id,
        attributes=tuple(attributes),
        parent=upper_switch(path),
        numa_node=reader.text(f"{path}/numa_node") or "-1",
        peers=switch_peers(reader, bus_id) if vendor == BROADCOM else (),
    )


def device_path(reader: Reader, bus_id: str) -> str | None:
    """The device's real path in sysfs, /sys/devices/pci0000:00/...; None when it is not there."""
    return reader.realpath(f"{DEVICES}/{bus_id.lower()}")


def link_speed(reader: Reader, path: str) -> str:
    """The lesser of the device's and its upstream port's max_link_speed, as text; "" when neither is readable."""
    device = reader.text(f"{path}/max_link_speed") or ""
    port = reader.text(f"{path}/../max_link_speed") or ""
    return port if _gigatransfers(port) < _gigatransfers(device) else device


def _gigatransfers(text: str) -> float:
    found = re.match(r"\s*(\d+(\.\d*)?) GT/s", text)
    return float(found[1]) if found else float("inf")


def link_width(reader: Reader, path: str) -> int:
    """The lesser of the device's and its upstream port's max_link_width in lanes.

    NCCL counts an unreadable one as 0.
    """
    return min(_lanes(reader.text(f"{path}/max_link_width")), _lanes(reader.text(f"{path}/../max_link_width")))


def _lanes(text: str | None) -> int:
    return max(0, whole(text) or 0)


def upper_switch(path: str) -> str | None:
    """The bus id of the switch above a device, None below a CPU root.

    A switch is two bridges in sysfs, so the way up is two path elements; NCCL names the switch by its upstream port.
    """
    parts = path.split("/")
    if len(parts) < 3 or not is_bus_id(parts[-2]) or not is_bus_id(parts[-3]):
        return None
    return parts[-3]


def switch_peers(reader: Reader, bus_id: str) -> tuple[str, ...]:
    """Bus ids of the Broadcom switches linked to this one (NCCL's `getBcmLinks`)."""
    names = reader.entries(f"{SWITCH_LINKS}/{bus_id.lower()}")
    return tuple(name for name in names if is_bus_id(name) and device_path(reader, name))


def gpu_bus_ids(reader: Reader) -> tuple[str, ...]:
    """Bus ids of NVIDIA's display devices, by sysfs alone."""
    return tuple(
        name
        for name in reader.entries(DEVICES)
        if reader.text(f"{DEVICES}/{name}/vendor") == NVIDIA
        and (reader.text(f"{DEVICES}/{name}/class") or "").startswith(DISPLAY_CLASS)
    )
