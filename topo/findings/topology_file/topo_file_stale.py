# SPDX-License-Identifier: Apache-2.0
"""A file for another machine: it names GPUs and NICs that do not exist, or lacks some that do."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import TOPO_FILE_STALE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.present import gpus_there, nics_there, on_machine
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement


def _check(file: Machine) -> Iterator[Finding]:
    if file.beside is None:
        return
    devices = [pci for pci in file.topology.placed("pci") if pci.is_gpu or pci.is_nic]
    there = [pci for pci in on_machine(file, "pci") if pci.is_gpu or pci.is_nic]
    gpus, nics = gpus_there(file), nics_there(file)
    gone = [pci for pci in devices if pci.key[1] not in (gpus if pci.is_gpu else nics)]
    yield from _gone(gone, devices, {net.get("name") for net in on_machine(file, "net")})
    named = {pci.key[1] for pci in devices}
    yield from (_unnamed(file, pci) for pci in there if pci.key[1] not in named)


def _gone(gone: list[PlacedElement], devices: list[PlacedElement], nets: set[str | None]) -> Iterator[Finding]:
    """Devices in the file that the machine lacks; `nets`: the names of the machine's NICs."""
    gpus = [pci for pci in devices if pci.is_gpu]
    none_left = bool(gpus) and all(pci in gone for pci in gpus)
    for pci in gone:
        what = "GPU" if pci.is_gpu else "NIC"
        yield RULE.at(
            pci,
            Level.FAIL if none_left and pci.is_gpu else Level.WARN,
            f"the machine has no {what} at {pci.bus_id}",
            effect=_effect(pci, nets, none_left=none_left),
            kind=what,
        )


def _effect(pci: PlacedElement, nets: set[str | None], *, none_left: bool) -> str:
    """NCCL finds a GPU by its bus id, a NIC by its name."""
    if known := [name for net in pci.below("net") if (name := net.get("name")) in nets]:
        return f"NCCL assumes that {', '.join(map(str, known))} exists"
    return "the file is for another machine: NCCL ignores all of it" if none_left else "NCCL ignores it"


def _unnamed(file: Machine, pci: PlacedElement) -> Finding:
    """A device of the machine that is not in the file."""
    nets = list(pci.below("net"))
    fast = pci.is_gpu or any(net.get("gdr") == "1" for net in nets)
    what = "GPU" if pci.is_gpu else f"NIC ({', '.join(net.get('name') or '?' for net in nets)})"
    return RULE.finding(
        Level.WARN if fast else Level.INFO,
        pci.bus_id,
        f"the {what} at {pci.bus_id} is not in the file",
        effect="NCCL places it as sysfs shows it, unlike the others",
        file=file.topology.path,
    )


RULE = TopologyFileRule(card=TOPO_FILE_STALE, check=_check)
