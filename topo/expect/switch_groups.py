# SPDX-License-Identifier: Apache-2.0
"""Devices by the PCIe switch that they share: a board repeats one group, so that a group with less has lost something.

Only groups that hold a NIC of one model, or all a GPU, are compared; most of them, and at least three, must agree.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.pci_devices import gpus, nics
from railgauge.topo.facts.sources.pci_functions import PciFunction

LEAST = 3  # groups that agree
TOP = 2  # the place of the upstream port of a switch in a function's path, after host bridge and root port


class SwitchGroup(NamedTuple):
    """The GPUs, and the cards of one model of NIC, below the switch whose upstream port is `switch`."""

    switch: str
    gpus: tuple[str, ...]
    nics: tuple[str, ...]


class Gap(NamedTuple):
    """A group with `missing` devices less than `siblings` groups have; `present`: those of all groups together."""

    group: SwitchGroup
    missing: int
    siblings: int
    present: int


def gpu_gaps(facts: MachineFacts) -> list[Gap]:
    """The groups that have as many NICs as their siblings, and fewer GPUs; each switch once."""
    found = {gap.group.switch: gap for groups in _by_model(facts) for gap in _gaps(groups, "gpus", "nics")}
    return list(found.values())


def nic_gaps(facts: MachineFacts) -> list[Gap]:
    """The groups that have as many GPUs as their siblings, and fewer NICs; each switch once."""
    found = {gap.group.switch: gap for groups in _by_model(facts) for gap in _gaps(groups, "nics", "gpus")}
    return list(found.values())


def _gaps(groups: list[SwitchGroup], what: str, beside: str) -> Iterator[Gap]:
    """What is missing of `what` where there is as much of `beside` as usual."""
    counts = Counter((len(getattr(one, what)), len(getattr(one, beside))) for one in groups)
    (usual, other), many = next(iter(counts.most_common(1)), ((0, 0), 0))
    if many < LEAST or 2 * many <= len(groups) or not usual or not other:
        return
    for one in groups:
        missing = usual - len(getattr(one, what))
        if missing > 0 and len(getattr(one, beside)) == other:
            present = sum(len(getattr(group, what)) for group in groups)
            yield Gap(group=one, missing=missing, siblings=many, present=present)


def _by_model(facts: MachineFacts) -> list[list[SwitchGroup]]:
    """For each model of NIC the groups with such a NIC or with a GPU."""
    places = _below_switches(gpus(facts))
    models: dict[tuple[str | None, ...], list[PciFunction]] = defaultdict(list)
    for nic in nics(facts):
        models[model(nic)].append(nic)
    return [list(_groups(places, _below_switches(_cards(same)))) for same in models.values()]


def _groups(near: dict[str, list[str]], beside: dict[str, list[str]]) -> Iterator[SwitchGroup]:
    for switch in sorted({*near, *beside}):
        yield SwitchGroup(switch=switch, gpus=tuple(near.get(switch, ())), nics=tuple(beside.get(switch, ())))


def model(one: PciFunction) -> tuple[str | None, ...]:
    """What twins have in common: the chip and the card."""
    return one.vendor, one.device, one.subsystem_vendor, one.subsystem_device


def _cards(functions: Iterable[PciFunction]) -> list[PciFunction]:
    """The first function of each card."""
    return list({one.bus_id.rpartition(".")[0]: one for one in reversed(list(functions))}.values())[::-1]


def _below_switches(functions: Iterable[PciFunction]) -> dict[str, list[str]]:
    """Bus ids by the upstream port of the first switch above them; those without a switch are left out."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in functions:
        if len(one.path) > TOP + 1:
            found[one.path[TOP]].append(one.bus_id)
    return found
