# SPDX-License-Identifier: Apache-2.0
"""What a lost GPU or NIC costs: the machine beside itself with the device back, as its siblings are."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from railgauge.topo.compare.restored import LostPlace, restored
from railgauge.topo.errors import Error
from railgauge.topo.expect.lost_gpus import LostDevice
from railgauge.topo.expect.switch_groups import model
from railgauge.topo.facts.sources.pci_functions import PciFunction
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.machine import Machine

UNPRICED = "no price: it is unknown where the device was, or how it was wired"
LAST = 0x1F  # the device number of a PCI bus from which numbers for places that are gone are taken


def lost_repairs(machine: Machine, lost: Iterable[LostDevice], present: Sequence[PciFunction]) -> Iterator[Repair]:
    """The devices back in their places, as far as these are known; present: those of the kind that the machine has."""
    for one in lost:
        place = _place(machine, one, present) if one.sure else None
        if place is not None:
            with suppress(Error):
                restored(machine.topology, place)
                yield Repair(subject=one.subject, lost=place)


def _place(machine: Machine, one: LostDevice, present: Sequence[PciFunction]) -> LostPlace | None:
    """Where it was: on PCI still, or below a switch like its twins."""
    function = machine.sources.function(one.subject)
    switch = machine.sources.function(one.switch)
    for twin in present:
        if function is not None and function.placed and model(function) == model(twin):
            if len(function.path) == len(twin.path):
                return LostPlace(name=one.subject, path=function.path, like=twin.path, numa=function.numa)
        elif switch is not None and len(switch.path) < len(twin.path):
            below = range(len(twin.path) - len(switch.path))
            free = tuple(f"{switch.bus_id[:-4]}{LAST - number:02x}.0" for number in below)
            return LostPlace(name=one.subject, path=(*switch.path, *free), like=twin.path, numa=switch.numa)
    return None
