# SPDX-License-Identifier: Apache-2.0
"""GID tables with empty entries, so that no single index is right for all ports."""

from collections import Counter
from collections.abc import Iterator

from railgauge.topo.findings.cards.rdma_ports import GID_TABLE_HOLES
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.ib_plugin import NcclPort
from railgauge.topo.nccl.settings.gid import GidSettings, choose_gid


def _roce(machine: Machine) -> list[NcclPort]:
    ports = (port for port in machine.rdma_ports if port.rdma_port.link_layer == "Ethernet")
    return [port for port in ports if port.device.transport == "InfiniBand" and not port.device.virtual]


def _check(machine: Machine) -> Iterator[Finding]:
    ports = _roce(machine)
    for port in ports:
        if port.rdma_port.gid_table_length is None:
            yield RULE.unknown(f"{port.name}:{port.rdma_port.number}", "its GIDs were not captured")
    holed = [(port, holes) for port in ports if (holes := _holes(port))]
    usual = Counter(_index(port) for port in ports).most_common(1)
    for port, holes in holed:
        differs = usual[0][0] != _index(port)
        yield RULE.finding(
            Level.WARN if differs else Level.INFO,
            f"{port.name}:{port.rdma_port.number}",
            f"entries {', '.join(map(str, holes))} of its GID table are empty, and the first good one is {_index(port)}"
            + (f", on other ports {usual[0][0]}" if differs else ""),
            holes=holes,
            index=_index(port),
            usual_index=usual[0][0],
        )


def _index(port: NcclPort) -> int | None:
    return choose_gid(port.rdma_port, GidSettings()).index


def _holes(port: NcclPort) -> list[int]:
    """The unused entries before the one that NCCL takes."""
    used = {gid.index for gid in port.rdma_port.gids}
    return [index for index in range(_index(port) or 0) if index not in used]


RULE = Rule(card=GID_TABLE_HOLES, concerns=lambda machine: machine.facts is None or bool(_roce(machine)), check=_check)
