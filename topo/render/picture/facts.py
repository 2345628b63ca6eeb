# SPDX-License-Identifier: Apache-2.0
"""The words about one node: its title, and facts as (what, text), with names where an inventory tells them."""

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.nccl.graph.bandwidth import nvlink_count
from railgauge.topo.nccl.graph.model import LinkKind, Node, NodeKind, System
from railgauge.topo.render.names import cpu_family, cpu_model, gpu_family, short_speed
from railgauge.topo.values.spans import listed

LAYERS = {"infiniband": "IB", "roce": "RoCE", "iwarp": "iWARP"}
LONGEST_CORES = 24  # characters of a core list; longer ones are counted instead
Fact = tuple[str, str]


def title(system: System, node: Node) -> str:
    """The name of a part: GPU0, NIC1, NUMA 0, PCIe switch."""
    if node.kind is NodeKind.DEV:
        return ", ".join(f"GPU{gpu.dev}" for gpu in held(system, node, NodeKind.GPU))
    if node.kind is NodeKind.NIC:
        return ", ".join(f"NIC{net.dev}" for net in held(system, node, NodeKind.NET)) or "NIC"
    if node.kind is NodeKind.CPU:
        return "CPU" if node.numa is None or node.numa < 0 else f"NUMA {node.numa}"
    return {NodeKind.HOST: f"RANK{node.rank}", NodeKind.MEM: "Memory"}.get(node.kind, "PCIe switch")


def held(system: System, node: Node, kind: NodeKind) -> list[Node]:
    """The GPUs of a card, the ports of a NIC, what a switch is wired to."""
    nodes = (system.node(link.target) for link in system.links_of(node.id))
    return [other for other in nodes if other.kind is kind]


def facts(system: System, inventory: MachineFacts | None, node: Node) -> list[Fact]:
    """What is known of a node beside its title and wires; a fact may be "" where it is not known."""
    if node.kind is NodeKind.CPU:
        return [("CPU", _cpu_name(inventory, node)), ("cores", cores_text(node.cpus))]
    if node.kind is NodeKind.DEV:
        return [("model", _gpu_name(inventory, node)), ("bus id", node.bus_id or "")]
    if node.kind is NodeKind.NIC:
        nets = held(system, node, NodeKind.NET)
        return [*(("port", _port(system, inventory, node, net)) for net in nets), ("bus id", node.bus_id or "virtual")]
    if node.kind is NodeKind.HOST:
        return [("cores", cores_text(node.cpus))]
    linked = [other for other in held(system, node, NodeKind.PCI) if _is_linked(system, node, other)]
    return [("bus id", node.bus_id or ""), *(("linked", f"linked to {other.bus_id}") for other in linked)]


def _is_linked(system: System, node: Node, other: Node) -> bool:
    return any(link.target == other.id and link.kind is LinkKind.LOC for link in system.links_of(node.id))


def _cpu_name(inventory: MachineFacts | None, node: Node) -> str:
    if inventory and inventory.host.cpu:
        return cpu_model(inventory.host.cpu)
    return cpu_family(node.vendor, *node.family_and_model) or node.arch or ""


def cores_text(cpus: tuple[int, ...]) -> str:
    """The cores as a list, or their number where that is long; "" when unknown."""
    text = listed(cpus)
    return "" if not text else f"cores {text}" if len(text) <= LONGEST_CORES else f"{len(cpus)} cores"


def _gpu_name(inventory: MachineFacts | None, node: Node) -> str:
    gpu = inventory.gpu(node.bus_id) if inventory else None
    return gpu.name.removeprefix("NVIDIA ") if gpu and gpu.name else node.gfx or gpu_family(node.sm)


def _port(system: System, inventory: MachineFacts | None, nic: Node, net: Node) -> str:
    speed = next((link.gb_per_s for link in system.links_of(nic.id) if link.target == net.id), 0.0)
    return f"{net.name or '?'} · {speed * 8:g} Gb/s{_layer(inventory, net.name)}"


def _layer(inventory: MachineFacts | None, name: str | None) -> str:
    known = next((rdma.protocol for rdma in inventory.rdma if rdma.name == name), None) if inventory else None
    return f" {LAYERS[known]}" if known in LAYERS else ""


def side_facts(system: System, card: Node) -> list[Fact]:
    """NVLinks and chip-to-chip links of a card, summed; nothing for other nodes."""
    if card.kind is not NodeKind.DEV:
        return []
    nvlink, c2c = _total(system, card, LinkKind.NVL), _total(system, card, LinkKind.C2C)
    return [
        ("NVLink", f"NV{nvlink_count(card, nvlink)} · {short_speed(nvlink)}" if nvlink else ""),
        ("C2C", f"C2C · {short_speed(c2c)}" if c2c else ""),
    ]


def _total(system: System, node: Node, kind: LinkKind) -> float:
    return sum(link.gb_per_s for link in system.links_of(node.id) if link.kind is kind)
