# SPDX-License-Identifier: Apache-2.0
"""GPUs with fewer NVLinks than they should have: than others of their kind, or than NVML lists."""

from dataclasses import dataclass

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.pci_class import NVSWITCH
from railgauge.topo.facts.sources.nvml import Gpu
from railgauge.topo.nccl.graph.bandwidth import nvlink_count
from railgauge.topo.nccl.graph.model import Link, LinkKind, Node, NodeKind, System


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """How many NVLinks a GPU has, and how many it should."""

    has: int
    should: int

    @property
    def text(self) -> str:
        """In a few words."""
        return f"{self.has} of {self.should} NVLinks"

    @property
    def reason(self) -> str:
        """In full."""
        return f"{self.text} are up"


def short_of_nvlinks(system: System, inventory: MachineFacts | None = None) -> dict[str, Shortage]:
    """The cards that lack some, by id. From GPU to GPU it is none at all or no shortage: bridges need not use all."""
    cards = system.kind(NodeKind.DEV)
    counts = {card.id: _to_switch(system, card) for card in cards}
    found = {}
    for card in cards:
        if not counts[card.id] and _nvlinks(system, card):
            continue
        usual = max(counts[twin.id] for twin in cards if (twin.system, twin.sm) == (card.system, card.sm))
        should = _expected(inventory, card, counts[card.id], usual)
        if counts[card.id] < should:
            found[card.id] = Shortage(has=counts[card.id], should=should)
    return found


def _expected(inventory: MachineFacts | None, card: Node, has: int, usual: int) -> int:
    """How many links the card should have, where its twins have `usual`."""
    gpu = inventory.gpu(card.bus_id) if inventory and card.system == 0 else None
    if inventory is None or gpu is None:
        return usual
    if not has and any(link.up for link in gpu.links):
        return 0  # they are up, and NCCL has no use for them: MIG, or no P2P
    if not has and not _is_connected(gpu, inventory):
        return usual
    return max(usual, sum(link.up is not None for link in gpu.links))


def _is_connected(gpu: Gpu, inventory: MachineFacts) -> bool:
    """Whether links that are all down should be up: without a bridge a PCIe card's are down for good."""
    known_end = any(link.remote or link.remote_kind for link in gpu.links)
    in_fabric = bool(gpu.fabric and gpu.fabric.state)
    return known_end or in_fabric or any(one.pci_class and one.pci_class.startswith(NVSWITCH) for one in inventory.pci)


def _nvlinks(system: System, card: Node) -> list[Link]:
    return [link for link in system.links_of(card.id) if link.kind is LinkKind.NVL]


def _to_switch(system: System, card: Node) -> int:
    """How many links it has to an NVSwitch."""
    links = (link for link in _nvlinks(system, card) if system.node(link.target).kind is NodeKind.NVS)
    return sum(nvlink_count(card, link.gb_per_s) for link in links)
