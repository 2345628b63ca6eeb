# SPDX-License-Identifier: Apache-2.0
"""Software RDMA (Soft-RoCE, Soft-iWARP) among the devices that NCCL takes."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.rdma import SOFT_RDMA_PRESENT
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    taken = {port.name for port in machine.rdma_ports}
    hardware = sorted({port.name for port in machine.rdma_ports if not port.device.virtual})
    for device in machine.sources.rdma:
        if not device.placed:
            yield RULE.unknown(device.name, "unknown whether it is hardware: the kernel's links were not captured")
        if not device.virtual:
            continue
        beside = f", with {', '.join(hardware)}" if hardware else ""
        use = f"NCCL uses it{beside}" if device.name in taken else "NCCL does not use it"
        yield RULE.finding(
            Level.WARN if device.name in taken and hardware and machine.system.gpus else Level.INFO,
            device.name,
            f"software RDMA over a plain interface; {use}",
            taken=device.name in taken,
            hardware=hardware,
        )


RULE = Rule(
    card=SOFT_RDMA_PRESENT, concerns=lambda machine: machine.facts is None or bool(machine.facts.rdma), check=_check
)
