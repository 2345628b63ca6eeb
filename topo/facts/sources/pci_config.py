# SPDX-License-Identifier: Apache-2.0
"""Facts that only the configuration space of bridges, GPUs and NICs has: ACS, relaxed ordering, serials.

The kernel shows all of it (4096 bytes) to root alone, others see 64. Layout: PCI Express Base Specification, 7.5.3
(capability 0x10, Device Control), 7.7.11 (extended capability 0x000D, ACS) and 7.9.3 (0x0003, Device Serial Number);
names as in the kernel's pci_regs.h.
"""

import errno
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from railgauge.topo.facts.reader import Facts, LiveReader
from railgauge.topo.facts.sources.sysfs_pci import DEVICES
from railgauge.topo.values.pci_class import DISPLAY, NETWORK, PCI_BRIDGE

KINDS = (PCI_BRIDGE, DISPLAY, NETWORK)
HEADER, LEGACY, WHOLE = 64, 256, 4096  # bytes that anyone reads, without and with the extended part
STATUS, HAS_LIST, FIRST = 0x06, 0x10, 0x34
EXPRESS, FLAGS, DEVICE_CONTROL, RELAXED_ORDERING = 0x10, 2, 8, 0x10
ACS, ACS_CONTROL = 0x000D, 6
SERIAL, SERIAL_LOW, SERIAL_BYTES = 0x0003, 4, 8
GONE = 0xFFFFFFFF  # what a device that fell off the bus answers


class PciConfig(NamedTuple):
    """One function. size: how many bytes could be read; the rest is None where they do not reach.

    port: the device or port type, 4 a root port, 5 and 6 a switch's upstream and downstream port. acs: the ACS control
    word, None also where the function has none. relaxed_ordering: whether it may set that on its own requests. serial:
    the device's number, shared by all its functions and visible in VMs, None also where it has none.
    """

    size: int
    port: int | None = None
    acs: int | None = None
    relaxed_ordering: bool | None = None
    serial: str | None = None

    @property
    def whole(self) -> bool:
        """Whether the extended capabilities could be read."""
        return self.size >= WHOLE


def live_pci_config(reader: LiveReader) -> dict[str, Any]:
    """{"functions": {bus id: {"size", "port", "acs", "relaxed_ordering", "serial"}}} of the files that it reads."""
    names = reader.entries(DEVICES)
    if reader.realpath(DEVICES) is None or DEVICES in reader.problems:
        return {"error": f"{DEVICES}: {reader.problems.get(DEVICES, os.strerror(errno.ENOENT))}"}
    found = {name: _look(reader, f"{DEVICES}/{name}") for name in names}
    return {"functions": {name: answer for name, answer in found.items() if answer}}


def recorded_pci_config(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The same of files by absolute path, as an archive of sysfs holds them; nothing without any."""
    found = {path.removesuffix("/config"): data for path, data in files.items() if path.endswith("/config")}
    kinds = {path: files.get(f"{path}/class", b"").decode("ascii", "replace") for path in found}
    functions = {path.rpartition("/")[2]: decode(data) for path, data in found.items() if kinds[path].startswith(KINDS)}
    return {"functions": functions} if functions else {}


def _look(reader: LiveReader, folder: str) -> dict[str, Any] | None:
    if not (reader.text(f"{folder}/class") or "").startswith(KINDS):
        return None
    try:
        with open(f"{reader.root}{reader.realpath(folder)}/config", "rb", buffering=0) as config:
            return decode(config.read(WHOLE))
    except OSError:
        return None


def decode(config: bytes) -> dict[str, Any]:
    """The facts of a function's configuration space; null if missing."""
    at = _capability(config)
    control = _number(config, at + DEVICE_CONTROL, 2) if at else None
    flags = _number(config, at + FLAGS, 2) if at else None
    return {
        "size": len(config),
        "port": None if flags is None else flags >> 4 & 0xF,
        "acs": _number(config, at_acs + ACS_CONTROL, 2) if (at_acs := _extended(config, ACS)) else None,
        "relaxed_ordering": None if control is None else int(bool(control & RELAXED_ORDERING)),
        "serial": _serial(config),
    }


def _capability(config: bytes) -> int:
    """Where the PCI Express capability begins, 0 without one."""
    if len(config) < LEGACY or _number(config, 0, 4) == GONE or not config[STATUS] & HAS_LIST:
        return 0
    at, seen = config[FIRST] & ~3, set[int]()
    while HEADER <= at < LEGACY - 1 and at not in seen:
        if config[at] == EXPRESS:
            return at
        seen.add(at)
        at = config[at + 1] & ~3
    return 0


def _extended(config: bytes, wanted: int) -> int:
    """Where an extended capability begins, 0 without it."""
    at, seen = LEGACY, set[int]()
    while LEGACY <= at <= len(config) - 8 and at not in seen:
        header = _number(config, at, 4) or 0
        if header in (0, GONE):
            return 0
        if header & 0xFFFF == wanted:
            return at
        seen.add(at)
        at = header >> 20
    return 0


def _serial(config: bytes) -> str | None:
    """The serial number, an EUI-64, in hexadecimal."""
    at = _extended(config, SERIAL)
    number = _number(config, at + SERIAL_LOW, SERIAL_BYTES) if at else None
    return f"{number:016x}" if number not in (None, 0, (1 << 64) - 1) else None


def _number(config: bytes, at: int, size: int) -> int | None:
    return int.from_bytes(config[at : at + size], "little") if at + size <= len(config) else None


def read_pci_config(facts: Facts | None) -> Mapping[str, PciConfig]:
    """The functions by bus id; none if it was not read."""
    return {
        bus_id: PciConfig(
            size=int(answer["size"]),
            port=answer.get("port"),
            acs=answer.get("acs"),
            relaxed_ordering=None if answer.get("relaxed_ordering") is None else bool(answer["relaxed_ordering"]),
            serial=answer.get("serial"),
        )
        for bus_id, answer in ((facts or {}).get("functions") or {}).items()
    }
