# SPDX-License-Identifier: Apache-2.0
"""A GPU whose nearest RDMA NIC is further away than those of its siblings."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.gpus import GPU_NIC_FAR
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import has_gpus, is_unplaced
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.model import PATH_TYPES, Node

NEAR = PATH_TYPES.index("PXB")  # NCCL uses GPUDirect RDMA up to this distance
FAR = PATH_TYPES.index("SYS")


def _check(machine: Machine) -> Iterator[Finding]:
    nets = _rdma_nets(machine)
    if not machine.system.gpus or not nets:
        yield RULE.unknown(machine.host, missing(Need.NVML, machine) or "no RDMA device that NCCL would use")
        return
    nearest = {gpu: min((_distance(machine, gpu, net), net.index) for net in nets) for gpu in machine.system.gpus}
    near = [gpu for gpu, (distance, _) in nearest.items() if distance <= NEAR]
    for gpu, (distance, index) in nearest.items():
        if is_unplaced(machine, gpu.bus_id):
            yield RULE.unknown(gpu.bus_id or gpu.id, f"where GPU{gpu.dev} is on PCI is unknown")
            continue
        net = next(net for net in nets if net.index == index)
        if distance > NEAR and len(near) * 2 > len(nearest):
            kind = PATH_TYPES[distance]
            yield RULE.finding(
                Level.WARN if _has_one_each(machine, nets) else Level.INFO,
                gpu.bus_id or gpu.id,
                f"GPU{gpu.dev} ({gpu.bus_id}) reaches its nearest NIC {net.name} over {kind}, while {len(near)} of "
                f"{len(nearest)} GPUs have one below the same PCIe switch",
                effect="no GPUDirect RDMA with a NIC of its own: data goes through host memory, or over NVLink "
                "to another GPU (PXN)",
                nearest=net.name,
                type=kind,
                near_gpus=len(near),
            )
    if not near and all(distance >= FAR for distance, _ in nearest.values()):
        yield RULE.finding(
            Level.INFO,
            machine.host,
            "no NIC is on the same socket as the GPUs",
            effect="no GPUDirect RDMA; all traffic between nodes crosses the link between the sockets",
        )


def _has_one_each(machine: Machine, nets: list[Node]) -> bool:
    """Whether the machine has a NIC for each GPU, or one less; ports that are down are reported elsewhere."""
    return len(nets) >= len(machine.system.gpus) - 1 and not _port_down(machine)


def _port_down(machine: Machine) -> bool:
    devices = machine.sources.rdma
    return any(port.state is not None and not port.is_active for device in devices for port in device.ports)


def _distance(machine: Machine, gpu: Node, net: Node) -> int:
    return PATH_TYPES.index(machine.paths.wired(gpu.id, net.id).type)


def _rdma_nets(machine: Machine) -> list[Node]:
    """NICs that NCCL's IB plugin would use: those with the name of an RDMA device."""
    hardware = _hardware(machine)
    return [net for net in machine.system.nets if net.name in hardware]


def _hardware(machine: Machine) -> set[str]:
    """The names of hardware RDMA devices."""
    return {device.name for device in machine.sources.rdma if not device.virtual}


RULE = Rule(
    card=GPU_NIC_FAR,
    concerns=lambda machine: machine.facts is None or (has_gpus(machine) and bool(_hardware(machine))),
    check=_check,
)
