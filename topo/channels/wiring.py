# SPDX-License-Identifier: Apache-2.0
"""Input of the native searches (topo/native/wiring.h): the ends, the links, and the load of each step."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from railgauge import _native
from railgauge.topo.channels.group import group_of
from railgauge.topo.nccl.graph.model import PATH_TYPES, Link, LinkKind, Node, NodeKind, System
from railgauge.topo.nccl.paths.overhead import REVERSE_SHARE, in_small_packets, reverse_share
from railgauge.topo.nccl.paths.path_search import DIS
from railgauge.topo.nccl.paths.paths import Path, Paths

REVERSE = (0.0, REVERSE_SHARE, 1.0)  # numbered as in the native `Reverse`
KIND = {name: number for number, name in enumerate(PATH_TYPES)}
LinkKey: TypeAlias = tuple[str, str, LinkKind]
Hop: TypeAlias = tuple[int, int, int]  # link, reverse link or -1, its cost there
Step: TypeAlias = tuple[int, float, bool, list[Hop]]  # type, GB/s, in small packets, hops
NetRow: TypeAlias = tuple[int, int, float, float, int, list[int]]  # asic, port, GB/s, us, its GPU, near GPUs
NO_STEP: Step = (DIS, 0.0, False, [])


@dataclass(frozen=True, slots=True)
class Wiring:
    """A group (group.py) for the searches: its ranks, the NICs of the node, and the native form."""

    ranks: tuple[Node, ...]
    nets: tuple[Node, ...]
    links: tuple[Link, ...]
    steps: tuple[Step, ...]
    leaves: bool
    native: _native.topo.Wiring

    def step(self, source: int, target: int) -> Step:
        """The step between two ends by number: ranks first, then NICs."""
        return self.steps[source * (len(self.ranks) + len(self.nets)) + target]


def wire_up(system: System, table: Paths, nodes: int, nets: tuple[Node, ...]) -> Wiring:
    """The wiring of the group of one of `nodes` equal nodes over some NICs of the System.

    UnavailableError for a System without ranks.
    """
    group = group_of(system, table, nodes)
    ranks, leaves = group.ranks, group.leaves
    links = tuple(system.links)
    numbers = {(link.source, link.target, link.kind): number for number, link in enumerate(links)}
    steps = tuple(_steps(system, table, (*ranks, *nets), numbers))
    cards = system.kind(NodeKind.DEV)
    first = next(iter(system.kind(NodeKind.CPU)), None)
    native = _native.topo.Wiring(
        links=[(link.gb_per_s, link.kind is LinkKind.PCI) for link in links],
        gpus=[
            (rank.rank or 0, *_pci_links(system, rank, numbers), _positions(table.local_nets(rank), nets))
            for rank in ranks
        ],
        nets=[_net(system, table, net, ranks) for net in nets],
        steps=steps,
        leaves=leaves,
        switched=bool(system.kind(NodeKind.NVS)),
        several_hosts=len({rank.system for rank in ranks}) > 1,
        most_nets=table.most_nets,
        amd=first is not None and (first.arch, first.vendor) == ("x86_64", "AuthenticAMD"),
        least_sm=min((card.sm or 0 for card in cards), default=0),
        cards=len(cards),
        most_gb_per_s=_fastest_to_nets(table, cards, nets) if leaves else table.between_cards(),
        card_gb_per_s=max((_way_out(system, card) for card in cards), default=0.0),
    )
    return Wiring(ranks, nets, links, steps, leaves, native)


def _steps(system: System, table: Paths, ends: tuple[Node, ...], numbers: Mapping[LinkKey, int]) -> list[Step]:
    return [
        NO_STEP
        if source.kind is target.kind is NodeKind.NET
        else _step(system, source, table.get(source.id, target.id), numbers)
        for source in ends
        for target in ends
    ]


def _step(system: System, source: Node, path: Path, numbers: Mapping[LinkKey, int]) -> Step:
    if path.type == "DIS":
        return NO_STEP
    small = in_small_packets(system, source, path)
    return KIND[path.type], path.gb_per_s, small, [_hop(system, source, link, numbers) for link in path.links]


def _hop(system: System, source: Node, link: Link, numbers: Mapping[LinkKey, int]) -> Hop:
    share = reverse_share(system, source, link)
    back = numbers[link.target, link.source, link.kind] if share else -1
    return numbers[link.source, link.target, link.kind], back, REVERSE.index(share)


def _net(system: System, table: Paths, net: Node, ranks: tuple[Node, ...]) -> NetRow:
    speed = next((link.gb_per_s for link in system.links_of(net.id) if link.kind is LinkKind.NET), 0.0)
    local = table.local_gpu(net)
    near = _positions(table.near_gpus(net), ranks)
    asic = net.asic or 0
    signed = asic - (1 << 64) if asic >= 1 << 63 else asic
    return signed, net.port or 0, speed, net.latency_us or 0.0, ranks.index(local) if local in ranks else -1, near


def _positions(found: list[Node], among: tuple[Node, ...]) -> list[int]:
    return [among.index(node) for node in found if node in among]


def _pci_links(system: System, rank: Node, numbers: Mapping[LinkKey, int]) -> tuple[int, int]:
    """A GPU's own PCI link and the one back; -1 for a rank without."""
    card = next((link.target for link in system.links_of(rank.id) if link.kind is LinkKind.LOC), rank.id)
    up = next((link for link in system.links_of(card) if link.kind is LinkKind.PCI), None)
    if up is None:
        return -1, -1
    return numbers[card, up.target, up.kind], numbers[up.target, card, up.kind]


def _way_out(system: System, card: Node) -> float:
    """All NVLinks of a card together, or its PCI link if that is faster (`getTotalBw`)."""
    links = system.links_of(card.id)
    nvlinks = sum(link.gb_per_s for link in links if link.kind is LinkKind.NVL)
    return max([nvlinks, *(link.gb_per_s for link in links if link.kind is LinkKind.PCI)])


def _fastest_to_nets(table: Paths, cards: tuple[Node, ...], nets: tuple[Node, ...]) -> float:
    """GB/s of the fastest path from a card to a NIC (`getMaxBw`)."""
    return max((table.get(card.id, net.id).gb_per_s for card in cards for net in nets), default=0.0)
