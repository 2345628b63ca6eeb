# SPDX-License-Identifier: Apache-2.0
"""NCCL_IB_GID_INDEX selects a GID that is empty or not routable to other nodes."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.sysfs_infiniband import Gid
from railgauge.topo.findings.cards.rdma_ports import GID_INDEX_INVALID
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.ib_plugin import NcclPort
from railgauge.topo.nccl.settings.gid import GidSettings, choose_gid, is_link_local, read_gid_settings

SETTING = "NCCL_IB_GID_INDEX"


def _check(machine: Machine) -> Iterator[Finding]:
    wanted = read_gid_settings(machine.settings)
    if wanted.index < 0:
        return
    for port in machine.rdma_ports:
        if port.rdma_port.link_layer != "Ethernet":
            continue
        subject = f"{port.name}:{port.rdma_port.number}"
        if port.rdma_port.gid_table_length is None:
            yield RULE.unknown(subject, "its GIDs were not captured")
        elif fault := _fault(port, wanted):
            yield _finding(port, wanted, subject, *fault)


def _finding(port: NcclPort, wanted: GidSettings, subject: str, level: Level, fault: str) -> Finding:
    own = choose_gid(port.rdma_port, GidSettings(roce_version=wanted.roce_version, family=wanted.family))
    return RULE.finding(
        level,
        subject,
        f"index {wanted.index} {fault}; unset, NCCL takes {own.index}, {own.why}",
        index=wanted.index,
        own_index=own.index,
        table_length=port.rdma_port.gid_table_length,
    )


def _fault(port: NcclPort, wanted: GidSettings) -> tuple[Level, str] | None:
    """What is wrong with the entry that the setting names."""
    gid = port.gid.gid
    if wanted.index >= (port.rdma_port.gid_table_length or 0):
        return Level.FAIL, f"is outside the GID table ({port.rdma_port.gid_table_length} entries)"
    if gid is None:
        return Level.FAIL, "is empty on this port"
    return _weak(gid, wanted)


def _weak(gid: Gid, wanted: GidSettings) -> tuple[Level, str] | None:
    if is_link_local(gid):
        return Level.WARN, "is a link-local address, which routers do not forward"
    if gid.roce_version not in (None, wanted.roce_version):
        return Level.WARN, f"is RoCE v{gid.roce_version}, which is not routed beyond the subnet"
    return None


RULE = Rule(card=GID_INDEX_INVALID, needs=(Need.MACHINE, Need.SETTINGS), check=_check)
