# SPDX-License-Identifier: Apache-2.0
"""An RDMA port that is down, while others of its kind are up."""

from collections import Counter
from collections.abc import Iterator

from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice, RdmaPort
from railgauge.topo.findings.cards.rdma_ports import IB_PORT_DOWN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.effect import Prices
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.hca import parse_hca, plugin_off

Port = tuple[RdmaDevice, RdmaPort]
FAULTS = (Level.WARN, Level.FAIL)
FIRST = ("0", 1)  # the place of a card's first port
LINK_UP = "LinkUp"
OFF = "Disabled"  # the port was disabled by an administrator


def _check(machine: Machine) -> Iterator[Finding]:
    ports, prices = _ports(machine), Prices(machine)
    for device, port in ports:
        subject = f"{device.name}:{port.number}"
        if port.state is None:
            yield RULE.unknown(subject, "its state cannot be read")
        elif not port.is_active:
            level, why = _judged(machine, device, port, ports)
            found = RULE.finding(
                level,
                subject,
                f"state {port.state}, physical state {port.physical_state or 'unknown'}: {why}",
                state=port.state,
                physical_state=port.physical_state,
                active_ports=sum(1 for _, other in ports if other.is_active),
            )
            yield prices.on(found) if level in FAULTS else found


def _judged(machine: Machine, device: RdmaDevice, port: RdmaPort, ports: list[Port]) -> tuple[Level, str]:
    """How serious it is: not a fault if the port is excluded, or of cards that nobody uses."""
    if not parse_hca(machine.settings.get("NCCL_IB_HCA")).takes(device.name, port.number) or plugin_off(
        machine.settings
    ):
        return Level.INFO, "excluded by the settings"
    if not any(other.is_active for _, other in ports):
        serious = port.physical_state != OFF and (port.link_layer == "InfiniBand" or _are_rails(machine, ports))
        known = len(ports) > 1 and all(other.state for _, other in ports)
        others = "all others are down as well" if known else "no other port is known to be up"
        return (Level.FAIL if serious else Level.INFO), f"{others}: NCCL falls back to sockets"
    kin = [(one, other) for one, other in ports if _alike(one, device) and other.link_layer == port.link_layer]
    active = sum(1 for _, other in kin if other.is_active)
    if not active:
        return _judged_alone(machine, port, kin)
    place = _place(device, port)
    if place != FIRST and not any(other.is_active for one, other in kin if _place(one, other) == place):
        return Level.INFO, "this port is not in use on any card of its kind"
    return Level.FAIL, f"NCCL does not use it; {active} of its kind {'is' if active == 1 else 'are'} up"


def _judged_alone(machine: Machine, port: RdmaPort, kin: list[Port]) -> tuple[Level, str]:
    """How serious it is where ports of another kind are up: a fault of rails, and of a link that waits for a subnet
    manager.
    """
    if port.link_layer == "InfiniBand" and port.physical_state == LINK_UP:
        return Level.FAIL, "its link is up and no port of its kind is active: no subnet manager answers"
    if port.physical_state != OFF and len(kin) >= len(machine.system.gpus) > 1:
        return Level.FAIL, f"none of the {len(kin)} ports of its kind is up, which are no fewer than the GPUs"
    return Level.INFO, "no port of its kind is in use"


def _are_rails(machine: Machine, ports: list[Port]) -> bool:
    """Whether ports of RoCE are there for NCCL: none of InfiniBand, and as many as GPUs, several of each."""
    roce = all(port.link_layer != "InfiniBand" for _, port in ports)
    return roce and len(ports) >= len(machine.system.gpus) > 1


def _repairs(machine: Machine) -> Iterator[Repair]:
    """Ports that would be up, at the rate of their kind; none where no port of it tells what that is."""
    ports = _ports(machine)
    for device, port in ports:
        if port.state and not port.is_active and _judged(machine, device, port, ports)[0] in FAULTS:
            rates = Counter(
                other.rate for one, other in ports if other.is_active and other.rate and _alike(one, device)
            )
            for rate, _ in rates.most_common(1):
                yield Repair(subject=f"{device.name}:{port.number}", ports={(device.name, port.number): rate})


def _alike(one: RdmaDevice, other: RdmaDevice) -> bool:
    return (one.board_id or one.hca_type) == (other.board_id or other.hca_type)


def _place(device: RdmaDevice, port: RdmaPort) -> tuple[str, int]:
    """The port's place on its card: the number of the function, and that within the function."""
    return (device.bus_id or ".0").rpartition(".")[2], port.number


def _ports(machine: Machine) -> list[Port]:
    devices = machine.sources.rdma
    return [(device, port) for device in devices if not device.virtual for port in device.ports]


RULE = Rule(
    card=IB_PORT_DOWN,
    concerns=lambda machine: machine.facts is None or bool(_ports(machine)),
    check=_check,
    repairs=_repairs,
)
