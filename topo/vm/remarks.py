# SPDX-License-Identifier: Apache-2.0
"""What a user has to know of the file of a guest: which device is which, guesses, what was left out, cores."""

from collections.abc import Iterable, Iterator

from railgauge.topo.machine import Machine
from railgauge.topo.vm.device import Device
from railgauge.topo.vm.make import Made
from railgauge.topo.vm.match import Match


def remarks(made: Made, host: Machine, guest: Machine) -> Iterator[str]:
    """A line for each; WARN before what may be wrong."""
    for match in made.matches:
        doubt = " (a guess)" if match.guess else ""
        yield f"{match.guest.label} is the host's {match.host.label}: {match.by}{doubt}"
    yield from _other_models(made.matches)
    guesses = [match for match in made.matches if match.guess]
    if guesses:
        yield f"WARN: {_names(guesses)}: by the order of bus ids, which is a guess: --match GUEST=HOST says it by hand"
        if _marks(host) != _marks(guest):
            yield "the identifiers of host and guest are under pseudonyms of different keys, so none can be equal"
    used = {(pci.get("busid") or "").lower() for pci in guest.topology.root.walk() if pci.name == "pci"}
    for device in made.guest_only:
        level = "WARN: " if device.bus_id in used else ""
        yield f"{level}{device.label} {device.model} is not the host's, so NCCL puts it where the guest has it"
    if made.host_only:
        yield f"of the host and not in the guest: {_list(made.host_only)}"
    yield from _about_cpus(made)


def _other_models(matches: Iterable[Match]) -> Iterator[str]:
    """GPUs that have other PCI ids on the host; a virtual function of a NIC has them by design."""
    differing: dict[tuple[str, str], list[Match]] = {}
    for match in matches:
        if match.guest.kind == "GPU" and None not in match.guest.ids[:2] and match.guest.model != match.host.model:
            differing.setdefault((match.guest.model, match.host.model), []).append(match)
    for (here, there), same in differing.items():
        yield f"WARN: {_names(same)}: {here} in the guest, {there} on the host: is it the host of this guest?"


def _names(matches: Iterable[Match]) -> str:
    return ", ".join(match.guest.names[0] if match.guest.names else match.guest.bus_id for match in matches)


def _marks(machine: Machine) -> str | None:
    """The key of the pseudonyms that stand for the identifiers; None for plain ones."""
    found: str | None = getattr(machine.reader, "redacted", None)
    return found


def _list(devices: Iterable[Device]) -> str:
    return ", ".join(f"{device.label} {device.model}" for device in devices)


def _about_cpus(made: Made) -> Iterator[str]:
    unknown = [host for host, cpu in made.cpus.items() if not cpu.known]
    if unknown:
        example = " ".join(f"--cpu-map {host}=CORES" for host in unknown)
        yield (
            f"which of the guest's processors run on NUMA node {', '.join(unknown)} of the host is not known, so NCCL "
            f"binds no rank to a part of them: {example} says it"
        )
    for host, cpu in made.cpus.items():
        if cpu.numaid != host:
            yield f"NUMA node {host} of the host has numaid {cpu.numaid} in the file"
