# SPDX-License-Identifier: Apache-2.0
"""An RDMA port that is down, while others of its kind are up."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice, RdmaPort
from railgauge.topo.findings.cards.rdma import IB_PORT_DOWN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.hca import parse_hca, plugin_off

Port = tuple[RdmaDevice, RdmaPort]
OFF = "Disabled"  # the port was disabled by an administrator


def _check(machine: Machine) -> Iterator[Finding]:
    ports = _ports(machine)
    for device, port in ports:
        subject = f"{device.name}:{port.number}"
        if port.state is None:
            yield RULE.unknown(subject, "its state cannot be read")
        elif not port.is_active:
            level, why = _judged(machine, device, port, ports)
            yield RULE.finding(
                level,
                subject,
                f"state {port.state}, physical state {port.physical_state or 'unknown'}: {why}",
                state=port.state,
                physical_state=port.physical_state,
                active_ports=sum(1 for _, other in ports if other.is_active),
            )


def _judged(machine: Machine, device: RdmaDevice, port: RdmaPort, ports: list[Port]) -> tuple[Level, str]:
    """How serious it is: not a fault if the port is excluded, or if no port of that kind of card is in use."""
    if not parse_hca(machine.settings.get("NCCL_IB_HCA")).takes(device.name, port.number) or plugin_off(
        machine.settings
    ):
        return Level.INFO, "excluded by the settings"
    if not any(other.is_active for _, other in ports):
        serious = port.link_layer == "InfiniBand" and port.physical_state != OFF
        return (Level.FAIL if serious else Level.INFO), "all others are down as well: NCCL falls back to sockets"
    kin = [other for one, other in ports if _alike(one, device) and other.link_layer == port.link_layer]
    active = sum(1 for other in kin if other.is_active)
    if not active:
        return Level.INFO, "no port of its kind is in use"
    if port.number > 1 and all(other.is_active is (other.number == 1) for other in kin):
        return Level.INFO, "this port is not in use on any card of its kind"
    return Level.WARN, f"NCCL does not use it; {active} of its kind are up"


def _alike(one: RdmaDevice, other: RdmaDevice) -> bool:
    return (one.board_id or one.hca_type) == (other.board_id or other.hca_type)


def _ports(machine: Machine) -> list[Port]:
    devices = machine.sources.rdma
    return [(device, port) for device in devices if not device.virtual for port in device.ports]


RULE = Rule(card=IB_PORT_DOWN, concerns=lambda machine: machine.facts is None or bool(_ports(machine)), check=_check)
