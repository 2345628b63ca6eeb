# SPDX-License-Identifier: Apache-2.0
"""The PCI tree of a described machine as sysfs shows it."""

from railgauge.topo.facts.capture import SEEN
from railgauge.topo.facts.described.files import Files
from railgauge.topo.facts.described.pci import PciNode, PciTree
from railgauge.topo.facts.described.pci_model import DescribedPciLink

BUS = "/sys/bus/pci"


def pci_files(tree: PciTree, files: Files) -> None:
    """Every function with its ids, its link (at both ends) and its driver."""
    current = _current(tree)
    for node in tree.values():
        _function(node, current.get(node.path), files)


def _current(tree: PciTree) -> dict[str, DescribedPciLink]:
    """The links as they run, by the path of either end. Between the two ports of one switch there is none."""
    current: dict[str, DescribedPciLink] = {}
    for node in tree.values():
        if node.model.link is None or (node.depth and node.depth % 2 == 0):
            continue
        port = tree.get(node.above)
        current[node.path] = node.model.link.agreed(port.model.link if port else None)
        if port:
            current[port.path] = current[node.path]
    return current


def _function(node: PciNode, current: DescribedPciLink | None, files: Files) -> None:
    model = node.model
    files.folder(
        node.path,
        {
            "class": model.pci_class,
            "vendor": model.ids[0],
            "device": model.ids[1],
            "subsystem_vendor": model.subsystem[0],
            "subsystem_device": model.subsystem[1],
            "numa_node": str(node.numa),
            **_link("max", model.link),
            **_link("current", current),
        },
    )
    files.link(f"{BUS}/devices/{node.bus_id}", node.path)
    files.link(f"{node.path}/subsystem", BUS)
    if model.driver:
        files.text(f"{BUS}/drivers/{model.driver}/{SEEN}", "")
        files.link(f"{node.path}/driver", f"{BUS}/drivers/{model.driver}")


def _link(which: str, link: DescribedPciLink | None) -> dict[str, str | None]:
    if link is None:
        return {}
    return {f"{which}_link_speed": f"{link.gt_per_s} GT/s PCIe", f"{which}_link_width": str(link.lanes)}
