# SPDX-License-Identifier: Apache-2.0
"""Every PCI function of a machine: where it hangs, what it is, and what its link does now beside what it could do.

What NCCL writes of one is nccl/detect/detection.py's.
"""

import re
from typing import NamedTuple

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.sysfs_pci import DEVICES
from railgauge.topo.values.busid import is_bus_id
from railgauge.topo.values.number import not_negative, whole

HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}", re.IGNORECASE)
SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,2})?) GT/s")
UNKNOWN_LANES = 63  # PCIe link width field of all ones: what a device that fell off the bus answers


class PciLinkEnd(NamedTuple):
    """One end's view of a link: GT/s and lanes it runs at, and the most that end can do; None when unreadable.

    max_speed and max_width are what sysfs says of the latter: the text, and the number there, also that of a device
    that does not answer (63, 255). silent: a width has all bits set, as each answer of a device that fell off the bus.
    """

    gt_per_s: float | None
    lanes: int | None
    max_gt_per_s: float | None
    max_lanes: int | None
    max_speed: str | None = None
    max_width: int | None = None
    silent: bool = False


class PciFunction(NamedTuple):
    """One function. `folder` is its real path in sysfs, `path` the way down: the host bridge ("pci0000:15"), then the
    bus ids, its own last.

    pci_class and the ids are sysfs's text ("0x030200"). numa is None for -1. physfn is the physical function of a
    virtual one. What is unreadable is None.
    """

    bus_id: str
    folder: str
    path: tuple[str, ...]
    pci_class: str | None
    vendor: str | None
    device: str | None
    subsystem_vendor: str | None
    subsystem_device: str | None
    link: PciLinkEnd
    numa: int | None
    driver: str | None
    physfn: str | None

    @property
    def placed(self) -> bool:
        """Whether it is known what is above it: a list of devices, such as `lspci -nn`, does not say it."""
        return len(self.path) > 1

    @property
    def parent(self) -> str | None:
        """The bus id of the port above, None below the host bridge."""
        return self.path[-2] if len(self.path) > 2 else None


def read_functions(reader: Reader) -> tuple[PciFunction, ...]:
    """All PCI functions in the order of their bus ids; one that vanishes meanwhile is left out."""
    folders = ((name, reader.realpath(f"{DEVICES}/{name}")) for name in reader.entries(DEVICES) if is_bus_id(name))
    return tuple(read_function(reader, path, name) for name, path in folders if path is not None)


def read_function(reader: Reader, path: str, bus_id: str = "") -> PciFunction:
    """The function at a real path in sysfs, which ends in its bus id."""
    return PciFunction(
        bus_id=bus_id or path.rpartition("/")[2],
        folder=path,
        path=_way_down(path),
        pci_class=reader.text(f"{path}/class"),
        vendor=reader.text(f"{path}/vendor"),
        device=reader.text(f"{path}/device"),
        subsystem_vendor=reader.text(f"{path}/subsystem_vendor"),
        subsystem_device=reader.text(f"{path}/subsystem_device"),
        link=_link(reader, path),
        numa=not_negative(reader.text(f"{path}/numa_node")),
        driver=_name(reader.realpath(f"{path}/driver")),
        physfn=_name(reader.realpath(f"{path}/physfn")),
    )


def _way_down(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if is_bus_id(part) or HOST_BRIDGE.fullmatch(part))


def _name(path: str | None) -> str | None:
    return path.rpartition("/")[2] if path else None


def _link(reader: Reader, path: str) -> PciLinkEnd:
    max_speed, max_width = reader.text(f"{path}/max_link_speed"), whole(reader.text(f"{path}/max_link_width"))
    width = whole(reader.text(f"{path}/current_link_width"))
    return PciLinkEnd(
        gt_per_s=_speed(reader.text(f"{path}/current_link_speed")),
        lanes=_lanes(width),
        max_gt_per_s=_speed(max_speed),
        max_lanes=_lanes(max_width),
        max_speed=max_speed,
        max_width=max_width,
        silent=UNKNOWN_LANES in (width, max_width),
    )


def _speed(text: str | None) -> float | None:
    found = SPEED.match(text or "")
    return float(found[1]) if found else None


def _lanes(width: int | None) -> int | None:
    return width if width and 0 < width < UNKNOWN_LANES else None


def best_link(function: PciFunction, port: PciFunction | None) -> tuple[float | None, int | None]:
    """(GT/s, lanes) that both ends of the link above a function support; an unreadable port does not limit."""
    ends = [function.link] + ([port.link] if port else [])
    speeds = [end.max_gt_per_s for end in ends if end.max_gt_per_s is not None]
    lanes = [end.max_lanes for end in ends if end.max_lanes is not None]
    return min(speeds, default=None), min(lanes, default=None)
