# SPDX-License-Identifier: Apache-2.0
"""The devices of a machine with their attributes as text, so that two machines can be compared (diff.py).

Here from a topology; the attributes of an inventory, which has many more, are made beside.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from railgauge.topo.facts.sources.sysfs_pci import NVIDIA
from railgauge.topo.values.cpuset import from_mask
from railgauge.topo.values.number import whole
from railgauge.topo.values.pci_class import DISPLAY, NETWORK, NVME, OTHER_BRIDGE, PCI_BRIDGE
from railgauge.topo.values.spans import listed
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology

Facts = dict[str, str | None]
"""Attributes by name; a missing name was not read, None could not be read."""
KINDS = ((DISPLAY, "display"), (NETWORK, "NIC"), (PCI_BRIDGE, "PCI bridge"), (NVME, "NVMe drive"))
NVIDIA_KINDS = ((DISPLAY, "GPU"), (OTHER_BRIDGE, "NVSwitch"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """One device: `kind` and `id` (a bus id, "interface eth0", ...) find it on the other machine; `label` is its name.

    `names` find it again under another id, surest first. `identity` identifies the individual device (UUID, GUID,
    addresses), which matters on the same host only. `parent` is the id of the PCI port above.
    """

    kind: str
    id: str
    label: str
    facts: Facts
    names: tuple[str, ...] = ()
    identity: Facts = field(default_factory=dict)
    parent: str | None = None


def kind_of(pci_class: str | None, vendor: str | None) -> str:
    """The kind of a PCI function by its class: GPU, NIC, NVSwitch, PCI bridge, ..."""
    kinds = (*NVIDIA_KINDS, *KINDS) if vendor in (NVIDIA, None) else KINDS  # NCCL's older files have no vendor
    return next((kind for start, kind in kinds if (pci_class or "").startswith(start)), "PCI device")


def pci_label(kind: str, name: str, bus_id: str) -> str:
    """GPU4 (0000:9b:00.0), NIC mlx5_3 (0000:3b:00.0), NVSwitch (0000:07:00.0)."""
    return f"{kind}{'' if kind == 'GPU' or not name else ' '}{name} ({bus_id})"


def of_topology(topology: Topology) -> tuple[Attributes, ...]:
    """The devices of NCCL's XML."""
    items: list[Attributes] = []
    for cpu in topology.cpus:
        number = cpu.get("numaid") or "-1"
        words = (cpu.get(key) or "?" for key in ("arch", "vendor", "familyid", "modelid"))
        items.append(numa_attributes(number, {"cores": _cores(cpu.get("affinity")), "CPU": " ".join(words)}))
        for element in cpu.children:
            items += _below(element, f"NUMA node {number}")
    return tuple(items)


def numa_attributes(number: object, facts: Facts) -> Attributes:
    """A NUMA node."""
    return Attributes(kind="NUMA node", id=f"NUMA node {number}", label=f"NUMA{number}", facts=facts)


def _cores(mask: str | None) -> str | None:
    try:
        return listed(from_mask(mask)) if mask else None
    except ValueError:
        return mask


def _below(element: Element, parent: str) -> Iterator[Attributes]:
    if element.name == "nic":
        yield from (_net(net) for net in element.all("net"))
    elif element.name == "pci":
        bus_id = element.get("busid") or "?"
        yield _pci(element, bus_id, parent)
        for child in element.children:
            yield from _below(child, bus_id)


def _pci(pci: Element, bus_id: str, parent: str) -> Attributes:
    gpu = next(pci.all("gpu"), None)
    nets = [net.get("name") or "?" for nic in pci.all("nic") for net in nic.all("net")]
    width, kind = pci.get("link_width"), kind_of(pci.get("class"), pci.get("vendor"))
    facts: Facts = {"width": f"x{width}" if width else None, "speed": pci.get("link_speed"), "place": f"below {parent}"}
    return Attributes(
        kind=kind,
        id=bus_id,
        label=pci_label(kind, (gpu.get("dev") or "") if gpu else "+".join(nets), bus_id),
        facts=facts | (_gpu(gpu) if gpu else {}),
        names=(f"GPU{gpu.get('dev')}",) if gpu else tuple(nets),
        parent=parent,
    )


def _gpu(gpu: Element) -> Facts:
    links = {link.get("target") or "?": link.get("count") or "?" for link in gpu.all("nvlink")}
    c2c = next(gpu.all("c2c"), None)
    return {
        "NVLinks": str(sum(whole(count) or 0 for count in links.values())),
        "NVLink peers": nvlink_peers(links),
        "chip-to-chip links": (c2c.get("count") if c2c else None) or "0",
        "sm": gpu.get("sm"),
        "GPUDirect RDMA": yes_or_no(gpu.get("gdr") != "0"),
    }


def _net(net: Element) -> Attributes:
    name, speed = net.get("name") or "?", whole(net.get("speed"))
    facts: Facts = {
        "rate": f"{speed / 1000:g} Gb/s" if speed is not None else net.get("speed"),
        "GPUDirect RDMA": yes_or_no(net.get("gdr") == "1"),
    }
    return Attributes(kind="net", id=f"{name} port {net.get('port')}", label=name, facts=facts)


def nvlink_peers(links: Mapping[str, object]) -> str:
    """The peers of NVLinks: "0000:07:00.0 (5), 0000:08:00.0 (4)"."""
    return ", ".join(f"{target} ({count})" for target, count in sorted(links.items())) or "none"


def yes_or_no(value: bool | None) -> str | None:
    """A flag in words."""
    return None if value is None else "yes" if value else "no"
