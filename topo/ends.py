# SPDX-License-Identifier: Apache-2.0
"""The ends of a path by the names people use: GPU0, RANK1, NIC2, mlx5_0, a bus id, or an id of the System."""

import re

from railgauge.topo.busid import from_nvml, is_bus_id, to_number
from railgauge.topo.errors import UsageError
from railgauge.topo.model import Node, NodeKind, System

PREFIXES = {"GPU": NodeKind.GPU, "RANK": NodeKind.HOST, "HOST": NodeKind.HOST, "NIC": NodeKind.NET, "NET": NodeKind.NET}
ENDS = (NodeKind.GPU, NodeKind.HOST, NodeKind.NET, NodeKind.CPU, NodeKind.NVS)


def find_end(system: System, text: str) -> Node:
    """The node that `text` names; UsageError listing the ends when there is none."""
    ends = [node for node in system.nodes if node.kind in ENDS]
    for node in ends:
        if text in (node.id, node.name):
            return node
    numbered = re.fullmatch(r"([A-Za-z]+)([0-9]{1,9})", text)
    if numbered and numbered[1].upper() in PREFIXES:
        kind, dev = PREFIXES[numbered[1].upper()], int(numbered[2])
        found = next((node for node in ends if node.kind is kind and node.dev == dev), None)
        if found:
            return found
    bus_id = from_nvml(text)  # nvidia-smi's domain has eight digits
    if is_bus_id(bus_id):
        found = next((node for node in ends if node.bus_id and to_number(node.bus_id) == to_number(bus_id)), None)
        found = found or _net_on(system, to_number(bus_id))
        if found:
            return found
    names = ", ".join(node.id + (f" ({node.name})" if node.name else "") for node in ends)
    raise UsageError(f"there is no end {text!r}; there are {names}")


def _net_on(system: System, bus_id: int) -> Node | None:
    """The NET behind the NIC of a bus id."""
    for nic in system.kind(NodeKind.NIC):
        if nic.bus_id and to_number(nic.bus_id) == bus_id:
            targets = (system.node(link.target) for link in system.links_of(nic.id))
            return next((node for node in targets if node.kind is NodeKind.NET), None)
    return None
