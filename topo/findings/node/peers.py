# SPDX-License-Identifier: Apache-2.0
"""The devices that send to each other over PCI: GPUs and RDMA NICs, and the switch ports between them."""

from collections.abc import Iterator
from itertools import combinations, takewhile

from railgauge.topo.facts.sources.pci_functions import PciFunction
from railgauge.topo.findings.node.case import Case
from railgauge.topo.nccl.graph import link_facts


def gpus(case: Case) -> list[PciFunction]:
    """NVIDIA's GPUs in sysfs, whether NVML lists them or not."""
    return link_facts.gpus(case.inventory) if case.inventory else []


def nics(case: Case) -> list[PciFunction]:
    """The PCI functions of RDMA devices."""
    return link_facts.nics(case.inventory) if case.inventory else []


def has_gpus(case: Case) -> bool:
    """Whether the topology or sysfs shows a GPU."""
    return any(True for _ in case.file.all("gpu")) or bool(gpus(case))


def has_peers(case: Case) -> bool:
    """Whether two devices could send to each other; True for a topology file, where it is unknown."""
    if case.inventory is None:
        return True
    cards = max(len(gpus(case)), len(case.inventory.gpus))
    return cards > 0 and cards + sum(1 for device in case.inventory.rdma if not device.virtual) > 1


def ports_between(case: Case) -> dict[str, tuple[str, str]]:
    """The switch ports on the paths from GPUs to GPUs and NICs below one switch, each with a pair it connects."""
    near = gpus(case)
    known = {one.bus_id for one in near}
    found: dict[str, tuple[str, str]] = {}
    for one, other in combinations([*near, *nics(case)], 2):
        if one.bus_id in known or other.bus_id in known:
            for port in _between(one, other):
                found.setdefault(port, (one.bus_id, other.bus_id))
    return found


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
