# SPDX-License-Identifier: Apache-2.0
"""The devices that send to each other over PCI: GPUs and RDMA NICs, and the switch ports between them."""

from collections.abc import Iterator
from itertools import combinations, takewhile

from railgauge.topo.facts import pci_devices
from railgauge.topo.facts.sources.pci_functions import PciFunction
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import link_facts
from railgauge.topo.values.busid import to_number


def gpus(machine: Machine) -> list[PciFunction]:
    """NVIDIA's GPUs in sysfs, whether NVML lists them or not."""
    return pci_devices.gpus(machine.sources)


def nics(machine: Machine) -> list[PciFunction]:
    """The PCI functions of RDMA devices."""
    return link_facts.nics(machine.sources)


def has_gpus(machine: Machine) -> bool:
    """Whether the topology or sysfs shows a GPU."""
    return any(True for _ in machine.topology.placed("gpu")) or bool(gpus(machine))


def is_unplaced(machine: Machine, bus_id: str | None) -> bool:
    """Whether PCI devices are known, but not where this one is among them."""
    if machine.facts is None or not machine.facts.pci:
        return False
    function = machine.facts.function(bus_id)
    return function is None or not function.placed


def has_peers(machine: Machine) -> bool:
    """Whether two devices could send to each other; True for a topology file, where it is unknown."""
    if machine.facts is None:
        return True
    cards = max(len(gpus(machine)), len(machine.facts.gpus))
    return cards > 0 and cards + sum(1 for device in machine.facts.rdma if not device.virtual) > 1


def ports_between(machine: Machine) -> dict[str, tuple[str, str]]:
    """The switch ports on the paths from GPUs to GPUs and NICs below one switch, each with a pair it connects."""
    near = gpus(machine)
    known = {one.bus_id for one in near}
    found: dict[str, tuple[str, str]] = {}
    for one, other in combinations([*near, *nics(machine)], 2):
        if one.bus_id in known or other.bus_id in known:
            for port in _between(one, other):
                found.setdefault(port, (one.bus_id, other.bus_id))
    return found


def root_ports_between(machine: Machine) -> dict[str, tuple[str, str]]:
    """The root ports on the paths from GPUs to GPUs that NVLinks do not join, each with a pair it connects."""
    linked = {state.gpu.key[1] for state in link_facts.nvlink_states(machine.topology).values() if state.count}
    bare = [one for one in gpus(machine) if to_number(one.bus_id) not in linked]
    found: dict[str, tuple[str, str]] = {}
    for one, other in combinations(bare, 2):
        if not below_one_switch(one, other):
            for gpu in (one, other):
                for port in gpu.path[link_facts.ROOT_PORT : -1][:1]:
                    found.setdefault(port, (one.bus_id, other.bus_id))
    return found


def rails(machine: Machine) -> set[str]:
    """The bus ids of RDMA NICs that share a PCI switch with a GPU: those of one machine are built the same."""
    return {nic.bus_id for nic in nics(machine) if any(below_one_switch(gpu, nic) for gpu in gpus(machine))}


def below_one_switch(one: PciFunction, other: PciFunction) -> bool:
    """Whether a PCI switch joins two devices."""
    return _shared(one, other) > link_facts.ROOT_PORT + 1


def _shared(one: PciFunction, other: PciFunction) -> int:
    """The number of hops from the host bridge that the paths to two functions share."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one.path, other.path, strict=False))))


def _between(one: PciFunction, other: PciFunction) -> Iterator[str]:
    if below_one_switch(one, other):
        shared = _shared(one, other)
        yield from one.path[shared:-1]
        yield from other.path[shared:-1]
