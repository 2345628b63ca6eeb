# SPDX-License-Identifier: Apache-2.0
"""The NICs of a described machine in their places, with the names, addresses and GUIDs that each of them gets."""

import re
from dataclasses import dataclass

from railgauge.topo.facts.described.nic_model import FIELD, NicModel
from railgauge.topo.facts.described.pci import PciNode, PciTree, of_kind
from railgauge.topo.facts.described.section import Section

NAME = re.compile(r"[\w.:-]{1,63}", re.ASCII)
UP, RUNNING, BROADCAST_MULTICAST = 0x1, 0x40, 0x1002  # linux/if.h
OUI = "a088c2"  # NVIDIA's; what follows is made of the place in the PCI tree


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedNic:
    """One NIC in its place, with its names filled in; `index` is its place among all NICs."""

    node: PciNode
    model: NicModel
    index: int
    rdma: str | None
    netdev: str | None
    address: str | None

    @property
    def serial(self) -> str:
        """Six digits that no other NIC of the machine has: domain, bus, device and function."""
        domain, bus, function = self.node.bus_id.split(":")
        slot, _, number = function.partition(".")
        return f"{int(domain, 16) & 0xFF:02x}{bus}{int(slot, 16) << 3 | int(number):02x}"

    @property
    def mac(self) -> str:
        """The MAC address."""
        digits = OUI + self.serial
        return ":".join(digits[i : i + 2] for i in range(0, len(digits), 2))

    @property
    def guid(self) -> str:
        """The node and port GUID, a088:c203:00...."""
        return grouped(f"{OUI}0300{self.serial}")

    @property
    def system_guid(self) -> str:
        """The GUID that the functions of one card share."""
        return grouped(f"{OUI}0300{self.serial[:4]}00")

    @property
    def up(self) -> bool:
        """Whether its network interface is up: an InfiniBand one only with an address (IPoIB)."""
        return self.model.state == "ACTIVE" and (self.model.layer == "Ethernet" or self.address is not None)

    @property
    def flags(self) -> int:
        """The interface's flags. Its sysfs file shows them without IFF_RUNNING."""
        return BROADCAST_MULTICAST | (UP | RUNNING if self.up else 0)


def grouped(digits: str) -> str:
    """Hexadecimal digits in groups of four."""
    return ":".join(digits[i : i + 4] for i in range(0, len(digits), 4))


def named_nics(top: Section, tree: PciTree, models: dict[str, NicModel]) -> tuple[DescribedNic, ...]:
    """Every NIC of the tree, in the order of bus ids, with its patterns filled in."""
    nics: list[DescribedNic] = []
    counts: dict[str, int] = {}
    for index, node in enumerate(of_kind(tree, "nic.")):
        model = models[node.kind]
        values = _values(node, sum(1 for nic in nics if nic.rdma), counts.get(node.kind, 0))
        counts[node.kind] = counts.get(node.kind, 0) + 1
        rdma, netdev, address = (_filled(one, values) for one in (model.rdma, model.netdev, model.address))
        nic = DescribedNic(node=node, model=model, index=index, rdma=rdma, netdev=netdev, address=address)
        _check(top, nic, nics)
        nics.append(nic)
    return tuple(nics)


def _check(top: Section, nic: DescribedNic, others: list[DescribedNic]) -> None:
    """InputError when the kernel would not have such names and addresses."""
    for key in ("rdma", "netdev"):
        name = getattr(nic, key)
        if name is not None and (not NAME.fullmatch(name) or name in [getattr(other, key) for other in others]):
            raise top.wrong(f"{nic.node.kind}.{key}", f"{name!r} is not a valid name, or another NIC has it")
    if nic.address is not None and not _is_ipv4(nic.address):
        raise top.wrong(f"{nic.node.kind}.address", f"{nic.address!r} is not an IPv4 address")


def _is_ipv4(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(re.fullmatch("[0-9]{1,3}", part) and int(part) < 256 for part in parts)


def _values(node: PciNode, number: int, of_its_kind: int) -> dict[str, str]:
    """What stands for the fields of a pattern; places are decimal, domain 0 is left out: udev's way."""
    domain, bus, function = node.bus_id.split(":")
    slot, _, last = function.partition(".")
    values = {"bus": int(bus, 16), "slot": int(slot, 16), "function": int(last), "n": number, "i": of_its_kind}
    return {"domain": f"P{int(domain, 16)}" if int(domain, 16) else "", **{key: str(n) for key, n in values.items()}}


def _filled(pattern: str | None, values: dict[str, str]) -> str | None:
    return pattern and FIELD.sub(lambda found: values[found[1]], pattern)
