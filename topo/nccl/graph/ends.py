# SPDX-License-Identifier: Apache-2.0
"""The ends of a path by their names: GPU0, RANK1, NIC2, CPU0, NVS, mlx5_0, a bus id, an id of the System."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.graph.model import Node, NodeKind, System
from railgauge.topo.values.busid import from_nvml, is_bus_id, to_number
from railgauge.topo.values.near import did_you_mean

PREFIXES = {
    "GPU": NodeKind.GPU,
    "RANK": NodeKind.HOST,
    "HOST": NodeKind.HOST,
    "NIC": NodeKind.NET,
    "NET": NodeKind.NET,
    "CPU": NodeKind.CPU,
    "NUMA": NodeKind.CPU,
    "NVS": NodeKind.NVS,
}
UNPLACED = "-ffffffffffffff"  # ends the id of a <cpu> with numaid -1
ENDS = (NodeKind.GPU, NodeKind.HOST, NodeKind.NET, NodeKind.CPU, NodeKind.NVS)
NO_PORTS: Mapping[str, tuple[int, ...]] = {}
ID = re.compile(r"\b[A-Z0-9]{3,4}/[0-9a-f]+-[0-9a-f]+(?:#[0-9]+)?")  # GPU/0-1b000
NUMBERED = re.compile(r"(?P<prefix>[A-Za-z]+)(?:(?P<host>[0-9]{1,4})\.)?(?P<number>-1|[0-9]{1,9})?")  # GPU1.0: host 1


def find_end(system: System, text: str, ports: Mapping[str, tuple[int, ...]] = NO_PORTS) -> Node:
    """The node that `text` names; UsageError that lists the ends if there is none.

    `ports` are the port numbers of each RDMA device as the kernel has them. Without them mlx5_2:2 means a port
    by NCCL's number, which counts through the functions of a card.
    """
    ends = [node for node in system.nodes if node.kind in ENDS]
    for found in (_by_name(ends, text), _by_port(ends, text, ports), _by_number(ends, text), _by_bus_id(system, text)):
        first = next(found, None)
        if first is not None:
            return first
    names = ", ".join(f"{node.id} ({'/'.join(names_of(node))})" for node in ends)
    near = did_you_mean(text, [name for node in ends for name in (*names_of(node), node.id)])
    raise UsageError(f"unknown end {text!r}{near}; use one of {names}")


def names_of(node: Node) -> tuple[str, ...]:
    """The names of an end beside its id."""
    prefix = {NodeKind.HOST: "RANK", NodeKind.NET: "NIC", NodeKind.CPU: "NUMA"}.get(node.kind, str(node.kind))
    host = f"{node.system}." if node.system else ""
    numbers = ("",) if node.kind is NodeKind.NVS else _numbers(node)
    names = (*(f"{prefix}{host}{number}" for number in numbers), node.name)
    return tuple(name for name in names if name)


def text_names(system: System, *, cards: bool = False) -> dict[str, str]:
    """Names of nodes in text, by id: GPU0, RANK0, mlx5_0 (mlx5_0:2 with several ports), NUMA0, NVS, else a bus id.

    On another host of a file with several hosts: GPU1.0. `cards`: a card has the name of its GPU, for texts about links
    between cards; else it has its bus id, so that each node of a path has a name of its own.
    """
    ports = Counter(node.name for node in system.nets)
    names = {node.id: _text_name(node, several=ports[node.name] > 1) for node in system.nodes}
    for link in reversed(system.links):
        card, held = system.node(link.source), system.node(link.target)
        if cards and card.kind is NodeKind.DEV and held.kind is NodeKind.GPU:
            names[card.id] = names[held.id]
        if card.kind is NodeKind.NIC and not card.bus_id and held.kind is NodeKind.NET:
            names[card.id] = f"card of {names[held.id]}"
    return names


def _text_name(node: Node, *, several: bool) -> str:
    if node.kind is NodeKind.NET and node.name and not node.system:
        return f"{node.name}:{node.port}" if several else node.name
    if node.kind is NodeKind.MEM:
        return f"memory of NUMA{node.numa}"
    names = names_of(node) if node.kind in ENDS else ()
    return names[0] if names else node.bus_id or node.id


def named(text: str, names: Mapping[str, str]) -> str:
    """A text with names in place of NCCL's ids; ids without a name stay."""
    return ID.sub(lambda found: names.get(found[0], found[0]), text)


def _by_name(ends: Iterable[Node], text: str) -> Iterator[Node]:
    return (node for node in ends if text in (node.id, node.name, f"{node.name}:{node.port}"))


def _by_port(ends: Iterable[Node], text: str, ports: Mapping[str, tuple[int, ...]]) -> Iterator[Node]:
    name, _, port = text.rpartition(":")
    return (node for node in ends if node.name == name and port in map(str, ports.get(name, ())))


def _by_number(ends: Iterable[Node], text: str) -> Iterator[Node]:
    found = NUMBERED.fullmatch(text)
    kind = PREFIXES.get(found["prefix"].upper()) if found else None
    if found is None or kind is None or (found["number"] is None and kind is not NodeKind.NVS):
        return iter(())
    host, number = int(found["host"] or 0), int(found["number"] or 0)
    return (node for node in ends if (node.kind, node.system) == (kind, host) and number in _numbers(node))


def _numbers(node: Node) -> tuple[int | None, ...]:
    """The numbers of a node; a <cpu> without a NUMA node is -1, and also the host's only node if it has one."""
    if node.kind is NodeKind.CPU:
        return (-1, node.numa) if node.id.endswith(UNPLACED) and node.numa != -1 else (node.numa,)
    return (node.index if node.kind is NodeKind.NVS else node.dev,)


def _by_bus_id(system: System, text: str) -> Iterator[Node]:
    """GPUs of a bus id, then the NETs behind a NIC of it; nvidia-smi's domain has eight digits."""
    bus_id = from_nvml(text)
    number = to_number(bus_id) if is_bus_id(bus_id) else None
    on = [node for node in system.nodes if number is not None and node.bus_id and to_number(node.bus_id) == number]
    targets = (system.node(link.target) for nic in on if nic.kind is NodeKind.NIC for link in system.links_of(nic.id))
    yield from (node for node in on if node.kind is NodeKind.GPU)
    yield from (node for node in targets if node.kind is NodeKind.NET)
