# SPDX-License-Identifier: Apache-2.0
"""The IOMMU: its units, the groups that the kernel made of the devices, and whether it translates what a group sends.

Kernel: Documentation/ABI/testing/sysfs-kernel-iommu_groups. The command line is not read: it may name the host.
"""

from collections.abc import Mapping
from typing import NamedTuple

from railgauge.topo.facts.reader import Reader

KERNEL, ALWAYS = "/sys/kernel", "uevent_seqnum"  # a folder of every kernel, and a name in it
GROUPS = f"{KERNEL}/iommu_groups"
IDENTITY = "identity"


class IommuGroup(NamedTuple):
    """A group by its number; kind is the kernel's word (DMA, DMA-FQ, identity, ...), None when unreadable."""

    number: str
    kind: str | None
    devices: tuple[str, ...]


class Iommu(NamedTuple):
    """The groups; without any, `looked` says whether that means that no IOMMU is in use."""

    groups: tuple[IommuGroup, ...]
    looked: bool

    @property
    def by_device(self) -> Mapping[str, IommuGroup]:
        """The group of each bus id."""
        return {bus_id: group for group in self.groups for bus_id in group.devices}


def read_iommu(reader: Reader) -> Iommu:
    """The IOMMU of the machine."""
    names = sorted((name for name in reader.entries(GROUPS) if name.isdecimal()), key=int)
    return Iommu(
        looked=reader.realpath(GROUPS) is not None or ALWAYS in reader.entries(KERNEL),
        groups=tuple(
            IommuGroup(
                number=name,
                kind=reader.text(f"{GROUPS}/{name}/type"),
                devices=reader.entries(f"{GROUPS}/{name}/devices"),
            )
            for name in names
        ),
    )
