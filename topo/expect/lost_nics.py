# SPDX-License-Identifier: Apache-2.0
"""RDMA NICs and ports that a machine has lost: on PCI without an RDMA device, an RDMA device without PCI, fewer ports
than cards of the model have, or missing altogether.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from railgauge.topo.expect.lost_gpus import LostDevice
from railgauge.topo.expect.switch_groups import model, nic_gaps
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.pci_devices import nics
from railgauge.topo.facts.sources.pci_functions import PciFunction
from railgauge.topo.values.number import natural

SHARE = 3 / 4  # of the NICs of a model that are there, above which a switch without one has lost it
UNKNOWN_CARD = "0x0000"  # the subsystem of a function that does not name its card


def lost_nics(facts: MachineFacts) -> list[LostDevice]:
    """All of them, each once, by the surest sign. PCI must have been read."""
    found: dict[str, LostDevice] = {}
    signs = (_silent, _without_rdma, _without_pci, _fewer_ports, _fewer_functions)
    for one in (lost for sign in signs for lost in sign(facts)):
        found.setdefault(one.subject, one)
    return [*found.values(), *_gone(facts)]


def _silent(facts: MachineFacts) -> Iterator[LostDevice]:
    """Those that fell off the bus, whatever their driver still lists."""
    for one in nics(facts):
        if one.link.silent:
            yield LostDevice(subject=one.bus_id, why="it answers no read on the bus")


def _without_rdma(facts: MachineFacts) -> Iterator[LostDevice]:
    """Functions without an RDMA device where most others of the model have one; unsure where half of them have.

    A bond of two ports is one device, at the first. Where each network namespace has RDMA devices of its own, those of
    others are not seen.
    """
    known = {device.bus_id for device in facts.rdma}
    bonds = {_card(device.bus_id) for device in facts.rdma if device.bus_id and "bond" in device.name}
    twins: dict[tuple[str | None, ...], list[PciFunction]] = defaultdict(list)
    for nic in nics(facts):
        twins[model(nic)].append(nic)
    for same in twins.values():
        having = [one for one in same if one.bus_id in known]
        for one in same:
            lacks = one.bus_id not in known and _card(one.bus_id) not in bonds
            if lacks and 2 * len(having) >= len(same) and one.driver in (None, *(twin.driver for twin in having)):
                why = "no driver runs it" if one.driver is None else "it has no RDMA device"
                hidden = one.driver is not None and facts.rdma_namespaces == "exclusive"
                half = one.driver is not None and 2 * len(having) == len(same)
                doubt = " (lost, or in another network namespace)" if hidden else " (lost, or so set)" if half else ""
                words = f"on PCI, but {why}{doubt}; {len(having)} others of the model have one"
                yield LostDevice(subject=one.bus_id, why=words, sure=not (hidden or half))


def _card(bus_id: str) -> str:
    return bus_id.rpartition(".")[0]


def _without_pci(facts: MachineFacts) -> Iterator[LostDevice]:
    there = {one.bus_id for one in facts.pci}
    for device in facts.rdma:
        if device.bus_id is not None and device.bus_id not in there:
            yield LostDevice(subject=device.name, why=f"an RDMA device whose PCI function {device.bus_id} is gone")
        twins = [one for one in facts.rdma if one.board_id == device.board_id and one.path is not None]
        if device.path is None and device.placed and not device.virtual and device.board_id and twins:
            why = f"an RDMA device without a PCI function; {len(twins)} others of the model have one"
            yield LostDevice(subject=device.name, why=why)


def _fewer_ports(facts: MachineFacts) -> Iterator[LostDevice]:
    """RDMA devices with fewer ports than others of the board."""
    boards = defaultdict(list)
    for device in facts.rdma:
        if device.board_id and not device.virtual:
            boards[device.board_id].append(device)
    for same in boards.values():
        full = max(len(device.ports) for device in same)
        having = sum(len(device.ports) == full for device in same)
        for device in same:
            if len(device.ports) < full and 2 * having >= len(same):
                why = f"{len(device.ports)} of {full} ports; {having} others of the model have {full}"
                yield LostDevice(subject=device.name, why=why)


def _fewer_functions(facts: MachineFacts) -> Iterator[LostDevice]:
    """Cards whose ports are PCI functions, with fewer of them than the other cards of the model."""
    cards: dict[tuple[str | None, ...], Counter[str]] = defaultdict(Counter)
    for nic in nics(facts):
        if nic.subsystem_device not in (None, UNKNOWN_CARD):
            cards[model(nic)][_card(nic.bus_id)] += 1
    for same in cards.values():
        full = max(same.values())
        having = sum(count == full for count in same.values())
        for card, count in same.items():
            if count < full and 2 * having >= len(same):
                why = f"{count} of {full} ports on PCI; {having} others of the model have {full}"
                yield LostDevice(subject=card, why=why)


def _gone(facts: MachineFacts) -> list[LostDevice]:
    """Those whose siblings share a switch with a GPU, if most of the model are there. A VM shows no switches."""
    gaps = nic_gaps(facts)
    missing = sum(gap.missing for gap in gaps)
    if facts.host.virtual is not False or not gaps or gaps[0].present <= SHARE * (gaps[0].present + missing):
        return []
    return [
        LostDevice(
            subject=f"NIC below {gap.group.switch}",
            why=f"not on PCI; {gap.siblings} switches with such a GPU have {gap.missing} more NIC below them",
            switch=gap.group.switch if gap.missing == 1 else None,
        )
        for gap in sorted(gaps, key=lambda gap: natural(gap.group.switch))
    ]
