# SPDX-License-Identifier: Apache-2.0
"""A RoCE port without a routable address, while other ports of the machine have one; or without any address."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.network import RAIL_UNREACHABLE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.ib_plugin import NcclPort
from railgauge.topo.nccl.settings.gid import is_link_local


def _roce(machine: Machine) -> list[NcclPort]:
    ports = (port for port in machine.rdma_ports if port.rdma_port.link_layer == "Ethernet")
    return [port for port in ports if not port.device.virtual]


def _check(machine: Machine) -> Iterator[Finding]:
    ports = _roce(machine)
    routed = [port for port in ports if not _fault(port)]
    for port in ports:
        subject = f"{port.name}:{port.rdma_port.number}"
        if port.rdma_port.gid_table_length is None:
            yield RULE.unknown(subject, "its GIDs were not captured")
        elif fault := _fault(port):
            yield RULE.finding(
                Level.WARN if not port.rdma_port.gids or _mates(port, routed) else Level.INFO,
                subject,
                f"{fault}, and NCCL uses it with {len(routed)} ports that have a routable address",
                netdev=port.rdma_port.netdev,
                routed_ports=[f"{one.name}:{one.rdma_port.number}" for one in routed],
            )


def _fault(port: NcclPort) -> str:
    """Why its packets are not routable; "" if they are."""
    netdev = port.rdma_port.netdev or "its interface"
    gids = [gid for gid in port.rdma_port.gids if not is_link_local(gid)]
    if not port.rdma_port.gids:
        return f"its GID table is empty ({netdev})"
    if not gids:
        return f"{netdev} has no address, only link-local GIDs"
    return "" if any(gid.roce_version != 1 for gid in gids) else f"{netdev} has only GIDs of RoCE v1"


def _mates(port: NcclPort, routed: list[NcclPort]) -> bool:
    """Whether cards of its kind have a routable address."""
    return any(one.device.board_id == port.device.board_id for one in routed)


RULE = Rule(card=RAIL_UNREACHABLE, concerns=lambda machine: machine.facts is None or bool(_roce(machine)), check=_check)
