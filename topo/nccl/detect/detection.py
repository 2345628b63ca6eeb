# SPDX-License-Identifier: Apache-2.0
"""The facts of sysfs for a topology tree, read once for the trees of all ranks."""

from collections.abc import Mapping
from functools import cached_property

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.cpuinfo import CPUINFO, cpu_identity
from railgauge.topo.facts.sources.host_identity import host_hash
from railgauge.topo.facts.sources.pci_functions import PciFunction, read_function
from railgauge.topo.facts.sources.sysfs_numa import affinity
from railgauge.topo.facts.sources.sysfs_pci import BROADCOM, device_path, switch_peers
from railgauge.topo.values.busid import is_bus_id
from railgauge.topo.values.pci_class import NVSWITCH


class Detection:
    """One machine as NCCL detects it.

    `unknown` collects the bus ids without a place in sysfs or a topology file, `partial` those of devices that
    disappeared while being read.
    """

    def __init__(self, reader: Reader, environment: Mapping[str, str]) -> None:
        self.host_hash = host_hash(reader, environment)
        self.unknown: dict[str, None] = {}
        self.partial: dict[str, None] = {}
        self._reader = reader
        self._paths: dict[str, str | None] = {}
        self._functions: dict[str, PciFunction] = {}
        self._placed: dict[str, PciFunction] = {}  # without the ports that are only the other end of a link
        self._attributes: dict[str, tuple[tuple[str, str], ...]] = {}
        self._affinities: dict[str, tuple[tuple[str, str], ...]] = {}

    def device(self, bus_id: str) -> PciFunction | None:
        """A PCI device; None if sysfs does not have it."""
        if bus_id not in self._paths:
            self._paths[bus_id] = device_path(self._reader, bus_id)
        path = self._paths[bus_id]
        return None if path is None else self.device_at(path)

    def device_at(self, path: str) -> PciFunction:
        """The PCI device at a real path in sysfs."""
        if path not in self._placed:
            device = self._placed[path] = self._function(path)
            if self._reader.realpath(path) is None or None in (device.pci_class, device.vendor, device.device):
                self.partial[device.bus_id] = None
        return self._placed[path]

    def _function(self, path: str) -> PciFunction:
        if path not in self._functions:
            self._functions[path] = read_function(self._reader, path)
        return self._functions[path]

    def attributes(self, device: PciFunction) -> tuple[tuple[str, str], ...]:
        """What NCCL writes of a device, without what is unreadable; of its link what both ends can do.

        Of two speeds that is the lesser's text, "" when neither is readable; of two widths NCCL counts an unreadable
        one as 0.
        """
        if device.folder not in self._attributes:
            self._attributes[device.folder] = self._written(device)
        return self._attributes[device.folder]

    def _written(self, device: PciFunction) -> tuple[tuple[str, str], ...]:
        port = device.folder.rpartition("/")[0]
        ends = [device.link, *([self._function(port).link] if is_bus_id(port.rpartition("/")[2]) else [])]
        slowest = min(ends, key=lambda end: end.max_gt_per_s or float("inf"))
        widths = [max(0, end.max_width or 0) for end in ends]
        values = {
            "class": device.pci_class,
            "vendor": device.vendor,
            "device": device.device,
            "subsystem_vendor": device.subsystem_vendor,
            "subsystem_device": device.subsystem_device,
            "link_speed": slowest.max_speed or "",
            "link_width": str(min(widths) if len(ends) > 1 else 0),
        }
        return tuple((name, value) for name, value in values.items() if value is not None)

    def peers(self, device: PciFunction) -> tuple[str, ...]:
        """The bus ids of Broadcom switches linked to a device, which is one of them."""
        return switch_peers(self._reader, device.bus_id) if device.vendor == BROADCOM else ()

    def class_of_peer(self, bus_id: str) -> str | None:
        """The PCI class at the other end of an NVLink; None when it is there but cannot be read.

        A device that sysfs does not show counts as an NVSwitch, as in NCCL.
        """
        path = device_path(self._reader, bus_id)
        return NVSWITCH if path is None else self.device_at(path).pci_class

    def cpu(self, numa_id: str) -> tuple[tuple[str, str], ...]:
        """The attributes of a <cpu>: its cores, and what kind of CPU it is."""
        if numa_id not in self._affinities:
            self._affinities[numa_id] = affinity(self._reader, numa_id)
        return (*self._affinities[numa_id], *self._identity)

    @property
    def unsaid(self) -> list[str]:
        """Warnings about attributes of <cpu> that the kernel's files do not have."""
        lines = [] if self.host_hash else ["host_hash omitted: neither host name nor boot id is readable"]
        if not self._cpuinfo:
            lines.append(f"arch, vendor, familyid and modelid omitted: {CPUINFO} is missing")
        return lines

    @cached_property
    def _identity(self) -> tuple[tuple[str, str], ...]:
        return cpu_identity(self._cpuinfo)

    @cached_property
    def _cpuinfo(self) -> str:
        return self._reader.text(CPUINFO) or ""
