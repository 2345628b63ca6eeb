# SPDX-License-Identifier: Apache-2.0
"""Remarks on the file of a VM: which device is which, guesses, missing devices, cores."""

from collections.abc import Iterable, Iterator

from railgauge.topo.machine import Machine
from railgauge.topo.vm.device import VmDevice
from railgauge.topo.vm.make import Made
from railgauge.topo.vm.match import Match


def remarks(made: Made, host: Machine, guest: Machine) -> Iterator[str]:
    """One line per remark; WARN marks what may be wrong."""
    for match in made.matches:
        doubt = " (a guess)" if match.guess else ""
        yield f"{match.guest.label} of the VM is {match.host.label} of the host: {match.by}{doubt}"
    yield from _other_models(made.matches)
    guesses = [match for match in made.matches if match.guess]
    if guesses:
        yield f"WARN: {_names(guesses)}: matched by the order of bus ids, a guess: correct it with --match VM=HOST"
        if _marks(host) != _marks(guest):
            yield "host and VM were redacted with different keys, so identifiers cannot match"
    used = {(pci.get("busid") or "").lower() for pci in guest.topology.root.walk() if pci.name == "pci"}
    for device in made.guest_only:
        level = "WARN: " if device.bus_id in used else ""
        yield f"{level}{device.label} {device.model} was not found on the host, so NCCL places it as the VM shows it"
    if made.host_only:
        yield f"on the host only: {_list(made.host_only)}"
    yield from _about_cpus(made)


def _other_models(matches: Iterable[Match]) -> Iterator[str]:
    """GPUs with other PCI ids on the host; a virtual function of a NIC has other ones by design."""
    differing: dict[tuple[str, str], list[Match]] = {}
    for match in matches:
        if match.guest.kind == "GPU" and None not in match.guest.ids[:2] and match.guest.model != match.host.model:
            differing.setdefault((match.guest.model, match.host.model), []).append(match)
    for (here, there), same in differing.items():
        yield f"WARN: {_names(same)}: {here} in the VM, {there} on the host: is it the host of this VM?"


def _names(matches: Iterable[Match]) -> str:
    return ", ".join(match.guest.names[0] if match.guest.names else match.guest.bus_id for match in matches)


def _marks(machine: Machine) -> str | None:
    """The key of the pseudonyms of a redacted capture; None for plain identifiers."""
    found: str | None = getattr(machine.reader, "redacted", None)
    return found


def _list(devices: Iterable[VmDevice]) -> str:
    return ", ".join(f"{device.label} {device.model}" for device in devices)


def _about_cpus(made: Made) -> Iterator[str]:
    unknown = [host for host, cpu in made.cpus.items() if not cpu.known]
    if unknown:
        example = " ".join(f"--cpu-map {host}=CORES" for host in unknown)
        yield (
            f"the cores of the VM on {', '.join(f'NUMA{host}' for host in unknown)} of the host are unknown, so NCCL "
            f"binds ranks to all cores: give {example}"
        )
    for host, cpu in made.cpus.items():
        if cpu.numaid != host:
            yield f"NUMA{host} of the host has numaid {cpu.numaid} in the file"
