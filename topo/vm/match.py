# SPDX-License-Identifier: Apache-2.0
"""Finds the host's device for each device of a VM: by hand, by identifiers, by model, else by a guess.

A virtual function has its own GUIDs, but shares the card's GUID with its physical function; all virtual functions of a
port are at the same place, so it does not matter which one it is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railgauge.topo.errors import UsageError
from railgauge.topo.values.busid import is_bus_id, to_number
from railgauge.topo.vm.device import VmDevice

BY_HAND = "--match"
SHORT_DOMAIN = "0000:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A VM's device, the host's device, how it was found (UUID, GUID, ...), and whether that is a guess."""

    guest: VmDevice
    host: VmDevice
    by: str
    guess: bool = False


def by_hand(pairs: Iterable[str], guests: Sequence[VmDevice], hosts: Sequence[VmDevice]) -> tuple[Match, ...]:
    """The pairs of --match VM=HOST: bus ids, or names such as GPU0 and mlx5_0. UsageError for unknown devices."""
    found: list[Match] = []
    for pair in pairs:
        one, equals, other = pair.partition("=")
        if not equals:
            raise UsageError(f"--match {pair!r}: expected VM=HOST, two bus ids or names, e.g. GPU0=0000:1b:00.0")
        match = Match(guest=_named(guests, one, "VM"), host=_named(hosts, other, "host"), by=BY_HAND)
        if any(match.guest == known.guest for known in found):
            raise UsageError(f"--match {pair!r}: {match.guest.label} of the VM is matched already")
        if match.host.kind == "GPU" and any(match.host == known.host for known in found):
            raise UsageError(f"--match {pair!r}: {match.host.label} of the host is matched already")
        if match.guest.kind != match.host.kind:
            raise UsageError(f"--match {pair!r}: {match.guest.label} and {match.host.label} are of different kinds")
        found.append(match)
    return tuple(found)


def _named(devices: Sequence[VmDevice], text: str, side: str) -> VmDevice:
    bus_id = text if is_bus_id(text) else SHORT_DOMAIN + text
    number = to_number(bus_id) if is_bus_id(bus_id) else None
    for device in devices:
        if text in device.names or (number is not None and to_number(device.bus_id) == number):
            return device
    there = ", ".join(device.label for device in devices) or "none"
    raise UsageError(f"--match: the {side} has no {text!r}; it has: {there}")


def matched(guests: Sequence[VmDevice], hosts: Sequence[VmDevice], given: Sequence[Match] = ()) -> tuple[Match, ...]:
    """The matches of the VM's devices, in the VM's order; `given` ones are certain."""
    found = list(given)
    for step in (_by_marks, _by_card, _by_model):
        left = [guest for guest in guests if guest not in [match.guest for match in found]]
        taken = {match.host.bus_id for match in found}
        found += step(left, [host for host in hosts if host.bus_id not in taken])
    return tuple(sorted(found, key=lambda match: guests.index(match.guest)))


def _by_marks(guests: Sequence[VmDevice], hosts: Sequence[VmDevice]) -> list[Match]:
    found: dict[str, Match] = {}
    for guest in guests:
        of_host = ((host, what) for what, value in guest.marks for host in hosts if (what, value) in host.marks)
        same = next(((host, what) for host, what in of_host if _alike(guest, host) and host.bus_id not in found), None)
        if same:
            found[same[0].bus_id] = Match(guest=guest, host=same[0], by=same[1])
    return list(found.values())


def _by_card(guests: Sequence[VmDevice], hosts: Sequence[VmDevice]) -> list[Match]:
    """A function of the same card: one of the same model, else any, such as the parent of a virtual one."""
    found: list[Match] = []
    for guest in guests:
        taken = [match.host for match in found]
        same = [(host, what) for what, value in guest.cards for host in hosts if (what, value) in host.cards]
        same = [(host, what) for host, what in same if _alike(guest, host)]
        if same:
            host, by = min(same, key=lambda pair: (pair[0].ids != guest.ids, pair[0] in taken))
            found.append(Match(guest=guest, host=host, by=by))
    return found


def _alike(guest: VmDevice, host: VmDevice) -> bool:
    """Whether both may be the same device: a bridged virtio NIC has the MAC of another vendor."""
    return guest.kind == host.kind and guest.ids[0] == host.ids[0]


def _by_model(guests: Sequence[VmDevice], hosts: Sequence[VmDevice]) -> list[Match]:
    """Matches by PCI ids: certain if all candidates are at one place, else a guess by the order of bus ids."""
    found: list[Match] = []
    for ids in dict.fromkeys(guest.ids for guest in guests if None not in guest.ids[:2]):
        ours, theirs = ([one for one in side if one.ids == ids] for side in (guests, hosts))
        theirs = [one for one in theirs if one.passed] or theirs
        guess = len({one.place for one in theirs}) > 1
        by = f"order among {len(theirs)} {ours[0].model}" if guess else f"the only {ours[0].model}"
        for guest, host in zip(_in_order(ours), _in_order(theirs), strict=False):
            found.append(Match(guest=guest, host=host, by=by, guess=guess))
    return found


def _in_order(devices: Iterable[VmDevice]) -> list[VmDevice]:
    return sorted(devices, key=lambda device: to_number(device.bus_id))


def unmatched(devices: Iterable[VmDevice], taken: Iterable[VmDevice]) -> tuple[VmDevice, ...]:
    """The devices without a match."""
    known = {device.bus_id for device in taken}
    return tuple(device for device in devices if device.bus_id not in known)
