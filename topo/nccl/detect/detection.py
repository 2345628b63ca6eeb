# SPDX-License-Identifier: Apache-2.0
"""The facts of sysfs for a topology tree, read once for the trees of all ranks."""

from collections.abc import Mapping
from functools import cached_property

from railgauge.topo.facts.pci_class import NVSWITCH
from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.cpuinfo import CPUINFO, cpu_identity
from railgauge.topo.facts.sources.host_identity import host_hash
from railgauge.topo.facts.sources.sysfs_numa import affinity
from railgauge.topo.facts.sources.sysfs_pci import PciDevice, device_path, read_device


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
        self._devices: dict[str, PciDevice] = {}
        self._affinities: dict[str, tuple[tuple[str, str], ...]] = {}

    def device(self, bus_id: str) -> PciDevice | None:
        """A PCI device; None if sysfs does not have it."""
        if bus_id not in self._paths:
            self._paths[bus_id] = device_path(self._reader, bus_id)
        path = self._paths[bus_id]
        return None if path is None else self.device_at(path)

    def device_at(self, path: str) -> PciDevice:
        """The PCI device at a real path in sysfs."""
        if path not in self._devices:
            device = read_device(self._reader, path)
            self._devices[path] = device
            if self._reader.realpath(path) is None or not {"class", "vendor", "device"} <= {*dict(device.attributes)}:
                self.partial[device.bus_id] = None
        return self._devices[path]

    def class_of_peer(self, bus_id: str) -> str | None:
        """The PCI class at the other end of an NVLink; None when it is there but cannot be read.

        A device that sysfs does not show counts as an NVSwitch, as in NCCL.
        """
        path = device_path(self._reader, bus_id)
        return NVSWITCH if path is None else dict(self.device_at(path).attributes).get("class")

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
