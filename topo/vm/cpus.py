# SPDX-License-Identifier: Apache-2.0
"""The NUMA nodes of the host as <cpu> elements of a VM's file: their numbers there, and the VM's cores.

NCCL reads the cores of a <cpu> without a mask from the VM's NUMA node of that number, and binds ranks to them if it
finds any (`ncclTopoGetXmlFromCpu`, `ncclTopoGetCpuAffinity`). A VM cannot see which of its processors run on which node
of the host; a node for which that is unknown gets a number that binds no rank to a part of the cores.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from railgauge.topo.errors import UsageError
from railgauge.topo.values.cpuset import from_list, from_mask, to_mask
from railgauge.topo.values.spans import listed
from railgauge.topo.xml.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """The <cpu> for a node of the host: `numaid`, and the mask of the VM's cores if it needs one.

    known: whether the VM's cores on the node are known.
    """

    numaid: str
    affinity: str | None = None
    known: bool = True


def numa_cores(topology: Topology) -> Mapping[int, tuple[int, ...]]:
    """The cores of a machine by NUMA node; for a topology file, those of its masks."""
    if topology.numa:
        return {node.id: node.cpus for node in topology.numa}
    numbered = [(cpu.integer("numaid", topology.path, -1), cpu) for cpu in topology.cpus]
    return {number: from_mask(cpu.get("affinity") or "0") for number, cpu in numbered if number >= 0}


def parsed_cpu_map(
    texts: Iterable[str], hosts: Iterable[str], guest: Mapping[int, Sequence[int]]
) -> Mapping[str, tuple[int, ...]]:
    """The VM's cores by node of the host, from --cpu-map NODE=CORES; UsageError for unknown nodes or cores."""
    known, cores = list(hosts), {core for node in guest.values() for core in node}
    found: dict[str, tuple[int, ...]] = {}
    for text in texts:
        node, equals, numbers = text.partition("=")
        try:
            wanted = from_list(numbers) if equals else ()
        except ValueError:
            wanted = ()
        if not wanted or node in found:
            raise UsageError(f"--cpu-map {text!r}: give each NODE=CORES once, e.g. 0=0-95")
        if node not in known:
            raise UsageError(f"--cpu-map {text!r}: the devices are on these NUMA nodes of the host: {', '.join(known)}")
        if missing := tuple(core for core in wanted if core not in cores):
            raise UsageError(f"--cpu-map {text!r}: the VM has no core {listed(missing)}")
        if any(set(wanted) & set(others) for others in found.values()):
            raise UsageError(f"--cpu-map {text!r}: these cores are mapped to another node already")
        found[node] = wanted
    return found


def cpus(
    used: Mapping[str, frozenset[int | None]],
    guest: Mapping[int, tuple[int, ...]],
    given: Mapping[str, tuple[int, ...]],
) -> Mapping[str, Cpu]:
    """The <cpu> for each node of the host, by its numaid there.

    used: for each, the VM's nodes that have devices from there. guest: the VM's cores by node. given: cores known to
    run on a node of the host.
    """
    if given:
        return _by_cores(list(used), guest, given)
    seen = {host: next(iter(nodes)) for host, nodes in used.items() if len(nodes) == 1 and None not in nodes}
    if len(seen) == len(used) and (len(set(seen.values())) > 1 or len(used) == 1):
        return {host: Cpu(numaid=str(node)) for host, node in seen.items()}
    if len(guest) <= 1:  # no sockets visible: node 0 has all cores, so binds nothing
        return {host: Cpu(numaid=host, known=len(used) == 1) for host in used}
    free = _free(list(used), guest)
    return {host: Cpu(numaid=free[host], known=False) for host in used}


def _by_cores(
    hosts: Sequence[str], guest: Mapping[int, tuple[int, ...]], given: Mapping[str, tuple[int, ...]]
) -> Mapping[str, Cpu]:
    same = {cores: node for node, cores in guest.items()}
    size = max((core for cores in guest.values() for core in cores), default=0) + 1
    free = dict(zip(hosts, hosts, strict=True)) if len(guest) <= 1 else _free(hosts, guest)
    found: dict[str, Cpu] = {}
    for host in hosts:
        cores = given.get(host)
        if cores is None:
            found[host] = Cpu(numaid=free[host], known=False)
        elif cores in same:
            found[host] = Cpu(numaid=str(same[cores]))
        else:
            found[host] = Cpu(numaid=free[host], affinity=to_mask(cores, size))
    return found


def _free(hosts: Iterable[str], guest: Mapping[int, object]) -> Mapping[str, str]:
    """Numbers that no NUMA node of the VM has."""
    first = max(guest, default=-1) + 1
    return {host: str(first + place) for place, host in enumerate(hosts)}
