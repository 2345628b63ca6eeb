# SPDX-License-Identifier: Apache-2.0
"""What a PCI device of a described machine is: ids, class, the most its link can do, and its driver."""

import re
from typing import NamedTuple

from railgauge.topo.facts.described.section import Section

IDS = re.compile(r"([0-9a-f]{4}):([0-9a-f]{4})")
LINK = re.compile(r"([0-9]{1,3}\.[0-9]) x([0-9]{1,2})")
CLASS = re.compile(r"0x[0-9a-f]{6}")


class DescribedPciLink(NamedTuple):
    """GT/s and lanes."""

    gt_per_s: float
    lanes: int

    def agreed(self, port: "DescribedPciLink | None") -> "DescribedPciLink":
        """The link of this end and the port above."""
        if port is None:
            return self
        return DescribedPciLink(gt_per_s=min(self.gt_per_s, port.gt_per_s), lanes=min(self.lanes, port.lanes))


class PciModel(NamedTuple):
    """ids are (vendor, device) as sysfs spells them, 0x10de; link is None if a device has none."""

    pci_class: str
    ids: tuple[str, str]
    subsystem: tuple[str, str]
    link: DescribedPciLink | None
    driver: str | None


def read_model(section: Section, pci_class: str, driver: str | None = None) -> PciModel:
    """The PCI part of [gpu.*], [nic.*], [device.*], [switch.*] and [port]; the section stays open for more keys."""
    found = section.text("class", pci_class)
    if not CLASS.fullmatch(found):
        raise section.wrong("class", f"is {found!r}, expected six hexadecimal digits, e.g. {pci_class}")
    return PciModel(
        pci_class=found,
        ids=_ids(section, "id", "0000:0000"),
        subsystem=_ids(section, "subsystem", "0000:0000"),
        link=_link(section),
        driver=section.maybe("driver") or driver,
    )


def _ids(section: Section, key: str, default: str) -> tuple[str, str]:
    found = IDS.fullmatch(section.text(key, default))
    if not found:
        raise section.wrong(key, f"is {section.text(key)!r}, expected VENDOR:DEVICE, e.g. 10de:2330")
    return f"0x{found[1]}", f"0x{found[2]}"


def _link(section: Section) -> DescribedPciLink | None:
    if "link" not in section:
        return None
    found = LINK.fullmatch(section.text("link"))
    if not found:
        raise section.wrong("link", f"is {section.text('link')!r}, expected GT/s and lanes, e.g. '32.0 x16'")
    return DescribedPciLink(gt_per_s=float(found[1]), lanes=int(found[2]))
