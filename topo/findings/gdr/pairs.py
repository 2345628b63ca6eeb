# SPDX-License-Identifier: Apache-2.0
"""Every GPU with every NIC that NCCL's IB plugin takes: whether GPUDirect RDMA would be used, in both directions.

Unknown conditions (DMA-BUF without CUDA or libibverbs) are assumed to hold, so that the others decide; if all others
hold, the pair is unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.rdma_survey import RdmaSurvey, survey_rdma
from railgauge.topo.nccl.graph.model import PATH_TYPES, Node
from railgauge.topo.nccl.paths.gpudirect import GpuDirect
from railgauge.topo.nccl.paths.paths import Paths
from railgauge.topo.nccl.settings import levels
from railgauge.topo.xml.topology import Topology
from railgauge.topo.xml.tree import thaw

MEANING = {name: levels.MEANING[name] for name in levels.MEANING if "GDR" in name or "PXN" in name} | {
    "NCCL_DMABUF_ENABLE": "0: no DMA-BUF",
    "NCCL_IB_HCA": "which RDMA ports NCCL uses",
    "NCCL_IB_DISABLE": "1: no RDMA",
}
Answer = tuple[bool | None, str]
"""Whether NIC and host support it, None if unknown, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GdrPair:
    """One GPU and one NIC. used: NCCL would take this NIC for this GPU. nic: of the NIC and the host.

    gpu_can: CUDA's answer for the GPU, None if not queried.
    """

    gpu: Node
    net: Node
    used: bool
    sending: GpuDirect
    receiving: GpuDirect
    nic: Answer
    gpu_can: bool | None

    @property
    def ways(self) -> tuple[GpuDirect, GpuDirect]:
        """Both decisions, sending first."""
        return self.sending, self.receiving

    @property
    def unknown(self) -> str:
        """The unknown fact that prevents a decision; "" if it is decided."""
        if not any(way.on for way in self.ways):
            return ""
        if self.nic[0] is None:
            return self.nic[1]
        return "CUDA does not report whether the GPU supports GPUDirect RDMA" if self.gpu_can is None else ""


def gdr_pairs(machine: Machine) -> tuple[Machine, tuple[GdrPair, ...]]:
    """The machine under the settings in force, and all pairs of one host; none without GPUs or NICs of the IB plugin.
    A topology file has the values of its attributes.
    """
    if machine.reader is None or machine.facts is None:
        ports = [net for net in machine.system.nets if net.port]  # those of sockets are 0
        return machine, _pairs(machine, {net.id: (bool(net.gdr), f"the file has gdr={net.gdr:d}") for net in ports})
    answers = ib_answers(survey_rdma(machine.reader, machine.settings))
    there = replace(machine, topology=_with(machine.topology, answers)).under(machine.known_settings)
    return there, _pairs(there, {net.id: answers[net.name] for net in there.system.nets if net.name in answers})


def port_of(machine: Machine, net: Node) -> tuple[str, int]:
    """The device of a NIC, and the port of that device: the topology's counts through the functions of a card."""
    assert machine.reader is not None
    used = [port.nccl for port in survey_rdma(machine.reader, machine.settings).ports if port.nccl is not None]
    own = (port.rdma_port.number for port in used if (port.name, port.port) == (net.name, net.port))
    return net.name or "", next(own, 1)


def ib_answers(survey: RdmaSurvey) -> dict[str, Answer]:
    """By the name of each device with a port that NCCL uses."""
    return {port.device.name: port.gdr for port in survey.ports if port.nccl is not None}


def _with(topology: Topology, answers: Mapping[str, Answer]) -> Topology:
    """The topology with these answers; unknown counts as yes."""
    root = thaw(topology.root)
    for net in root.walk():
        found = answers.get(net.get("name") or "") if net.name == "net" else None
        if found is not None:
            net.put("gdr", str(int(found[0] is not False)))
    return replace(topology, root=root.freeze())


def _pairs(machine: Machine, answers: Mapping[str, Answer]) -> tuple[GdrPair, ...]:
    can = {gpu.bus_id: gpu.gdr for gpu in machine.sources.gpus}
    found = []
    for gpu in machine.system.gpus:
        nets = [net for net in machine.system.nets if net.id in answers and net.system == gpu.system]
        taken = _taken(machine.paths, gpu, nets)
        for net in nets:
            sending, receiving = (machine.paths.gpu_direct(gpu.id, net.id, sending=way) for way in (True, False))
            found.append(
                GdrPair(
                    gpu=gpu,
                    net=net,
                    used=net.id in taken,
                    sending=sending,
                    receiving=receiving,
                    nic=answers[net.id],
                    gpu_can=can.get(gpu.bus_id or "", gpu.gdr) if machine.facts else gpu.gdr,
                )
            )
    return tuple(found)


def _taken(table: Paths, gpu: Node, nets: list[Node]) -> set[str]:
    """The GPU's own NICs: those that NCCL takes, or nearer ones by topology.

    Without GPUDirect RDMA NCCL sends through the CPU, from where all NICs are equally far.
    """
    if not nets:
        return set()
    wired = {net.id: PATH_TYPES.index(table.wired(gpu.id, net.id).type) for net in nets}
    chosen = [net for net in table.local_nets(gpu) if net.id in wired] or nets
    least = min(wired.values())
    if least < min(PATH_TYPES.index(table.get(gpu.id, net.id).type) for net in chosen):
        return {net for net, distance in wired.items() if distance == least}
    return {net.id for net in chosen}
