# SPDX-License-Identifier: Apache-2.0
"""MTUs of RDMA ports that differ from their interface's, or between the ports of a machine."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from railgauge.topo.facts.sources.verbs import MTU_BYTES
from railgauge.topo.findings.cards.rdma_ports import MTU_MISMATCH
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.ib_plugin import NcclPort

SMALL = 1024
"""What fits into the usual 1500 bytes of Ethernet."""
HEADERS = 96
"""What the kernel reserves for the headers of RoCE (iboe_get_mtu: GRH 40, UDP 8, BTH 12, XRC 4, atomics 28, ICRC 4)."""


def _check(machine: Machine) -> Iterator[Finding]:
    ports = [port for port in machine.rdma_ports if not port.device.virtual]
    yield from _against_interface(machine, ports)
    yield from _among(machine, ports)


def _against_interface(machine: Machine, ports: list[NcclPort]) -> Iterator[Finding]:
    for port in ports:
        active, netdev = _active(machine, port), _netdev_mtu(machine, port)
        subject = f"{port.name}:{port.rdma_port.number}"
        if port.rdma_port.link_layer is None:
            yield RULE.unknown(subject, "its link layer and MTU are unknown")
        if port.rdma_port.link_layer != "Ethernet":
            continue
        fitting = _fitting((netdev or 0) - HEADERS)
        if netdev is None and active is not None and active <= SMALL:
            yield RULE.finding(
                Level.INFO, subject, _small(active, "as interfaces with MTU 1500 give"), active_mtu=active
            )
        elif active is None or netdev is None or fitting is None:
            what = "its active MTU (libibverbs)" if netdev else "the MTU of its interface"
            yield RULE.unknown(subject, f"{what} is unknown")
        elif active not in (fitting, _fitting(netdev)):  # some drivers reserve no room for headers
            message = f"its active MTU is {active}, but {port.rdma_port.netdev} with MTU {netdev} allows {fitting}"
            yield RULE.finding(Level.WARN, subject, message, active_mtu=active, netdev_mtu=netdev)
        elif active <= SMALL:
            message = _small(active, f"because {port.rdma_port.netdev} has MTU {netdev}")
            yield RULE.finding(Level.INFO, subject, message, active_mtu=active, netdev_mtu=netdev)


def _small(active: int, why: str) -> str:
    return f"active MTU {active}, {why}: about 5 % slower than with 4200 or more"


def _fitting(room: int) -> int | None:
    """The largest RDMA MTU that fits."""
    return max((size for size in MTU_BYTES.values() if size <= room), default=None)


def _among(machine: Machine, ports: list[NcclPort]) -> Iterator[Finding]:
    """Ports whose MTU differs from that of most ports of the same kind of card and link layer."""
    kinds: dict[tuple[str | None, str | None], list[NcclPort]] = defaultdict(list)
    for port in ports:
        kinds[port.device.board_id or port.device.hca_type, port.rdma_port.link_layer].append(port)
    for kin in kinds.values():
        mtus = {port.name: _active(machine, port) or _netdev_mtu(machine, port) for port in kin}
        usual, count = Counter(mtus.values()).most_common(1)[0]
        for name, mtu in mtus.items():
            if mtu != usual and mtu and usual and 2 * count > len(kin):
                message = f"its MTU is {mtu}; most ports of its kind have {usual}"
                yield RULE.finding(Level.WARN, name, message, mtu=mtu, usual_mtu=usual)


def _active(machine: Machine, port: NcclPort) -> int | None:
    return machine.sources.verbs.device(port.name).port(port.rdma_port.number).active_mtu


def _netdev_mtu(machine: Machine, port: NcclPort) -> int | None:
    interfaces = machine.sources.interfaces
    return next((one.mtu for one in interfaces if one.name == port.rdma_port.netdev), None)


RULE = Rule(
    card=MTU_MISMATCH,
    concerns=lambda machine: machine.facts is None or any(not port.device.virtual for port in machine.rdma_ports),
    check=_check,
)
