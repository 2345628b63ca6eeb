# SPDX-License-Identifier: Apache-2.0
"""The header of an answer about a machine: host, model, GPUs, NICs, driver, NCCL, and when it was captured."""

from collections import Counter
from collections.abc import Mapping, Sequence

from railgauge.topo.facts.capture import captured_at
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.machine import Machine
from railgauge.topo.render.palette import Ink, Line, line
from railgauge.topo.values.pci_class import GPUS, NETWORK
from railgauge.topo.values.printable import inline
from railgauge.topo.xml.topology import Topology

UNKNOWN_GPU = "GPU"


def machine_lines(machine: Machine, name: str) -> Sequence[Line]:
    """The header, and an empty line; `name` stands for a machine without a host name."""
    return (line(machine_header(machine, name), Ink.HEADING), line(""))


def machine_header(machine: Machine, name: str) -> str:
    """The header as a text; what is unknown is left out, but for the driver and NCCL of a machine with GPUs."""
    facts = machine.facts
    if facts is None:
        return file_header(machine.topology, machine.host or name)
    time = captured_at(facts.reader)
    parts = [facts.host.product or "", _devices(machine), _software(facts), f"captured {time}" if time else ""]
    return inline(f"{machine.host or name}: {'; '.join(filter(None, parts))}")


def file_header(topology: Topology, name: str) -> str:
    """The header of a topology file."""
    return inline(f"{name}: topology file; {_counted(_models_in(topology), _nets(topology))}")


def _devices(machine: Machine) -> str:
    facts, topology = machine.facts, machine.topology
    if facts is None:
        return _counted(_models_in(topology), _nets(topology))
    models = Counter(gpu.name or UNKNOWN_GPU for gpu in facts.gpus) or _models_in(topology)
    none = "no GPU" if facts.no_nvml is None or facts.lists_pci else "GPUs unknown"
    nics = len(facts.rdma) or _nets(topology)
    return _counted(models, nics if nics or not _of_gpus_alone(facts) else None, none)


def _of_gpus_alone(facts: MachineFacts) -> bool:
    """Whether what was pasted lists GPUs, and no other devices."""
    pasted: tuple[str, ...] = getattr(facts.reader, "pasted", ())
    gpus_alone = all(tool.startswith("nvidia-smi") and tool != "nvidia-smi topo -m" for tool in pasted)
    return bool(pasted) and gpus_alone and not facts.lists_pci


def _counted(models: Mapping[str, int], nics: int | None, none: str = "no GPU") -> str:
    gpus = [f"{count} x {model}" for model, count in models.items()] or [none]
    return ", ".join([*gpus, "NICs unknown" if nics is None else f"{nics} NIC{'' if nics == 1 else 's'}"])


def _models_in(topology: Topology) -> Mapping[str, int]:
    """A topology file names no models; that of a provider has the GPUs by class alone."""
    return Counter([UNKNOWN_GPU] * (len(topology.gpus) or _of_class(topology, GPUS)))


def _nets(topology: Topology) -> int:
    named = {one.get("name") for cpu in topology.cpus for one in cpu.walk() if one.name == "net"}
    return len(named) or (0 if topology.gpus else _of_class(topology, (NETWORK,)))


def _of_class(topology: Topology, classes: tuple[str, ...]) -> int:
    return sum((pci.get("class") or "").startswith(classes) for pci in topology.placed("pci"))


def _software(facts: MachineFacts) -> str:
    if not facts.gpus:
        return ""
    driver = facts.driver.module or facts.driver.nvml or "unknown"
    return f"driver {driver}, NCCL {facts.nccl or 'unknown'}"
