# SPDX-License-Identifier: Apache-2.0
"""NCCL_IB_GID_INDEX points at an entry that is empty or reaches no other node."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.sysfs_infiniband import Gid
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.nccl.detect.ib_plugin import NcclPort
from railgauge.topo.nccl.settings.gid import GidSettings, choose_gid, is_link_local, read_gid_settings

SETTING = "NCCL_IB_GID_INDEX"


def _check(case: Case) -> Iterator[Finding]:
    wanted = read_gid_settings(case.settings)
    if wanted.index < 0:
        return
    for port in case.rdma_ports:
        if port.rdma_port.link_layer != "Ethernet":
            continue
        subject = f"{port.name}:{port.rdma_port.number}"
        if port.rdma_port.gid_table_length is None:
            yield RULE.unknown(subject, "its GIDs are not recorded")
        elif fault := _fault(port, wanted):
            yield _finding(port, wanted, subject, *fault)


def _finding(port: NcclPort, wanted: GidSettings, subject: str, level: Level, fault: str) -> Finding:
    own = choose_gid(port.rdma_port, GidSettings(roce_version=wanted.roce_version, family=wanted.family))
    return RULE.finding(
        level,
        subject,
        f"index {wanted.index} {fault}; left alone NCCL takes {own.index}, {own.why}",
        index=wanted.index,
        own_index=own.index,
        table_length=port.rdma_port.gid_table_length,
    )


def _fault(port: NcclPort, wanted: GidSettings) -> tuple[Level, str] | None:
    """What is wrong with the entry that the setting names."""
    gid = port.gid.gid
    if wanted.index >= (port.rdma_port.gid_table_length or 0):
        return Level.FAIL, f"is beyond the table of {port.rdma_port.gid_table_length}"
    if gid is None:
        return Level.FAIL, "is empty here"
    return _weak(gid, wanted)


def _weak(gid: Gid, wanted: GidSettings) -> tuple[Level, str] | None:
    if is_link_local(gid):
        return Level.WARN, "is a link-local address, which no router carries"
    if gid.roce_version not in (None, wanted.roce_version):
        return Level.WARN, f"is RoCE v{gid.roce_version}, which ends at the own subnet"
    return None


RULE = Rule(
    id="gid-index-invalid",
    title="NCCL_IB_GID_INDEX points at a GID that cannot work",
    levels=(Level.WARN, Level.FAIL, Level.UNKNOWN),
    about=(
        "Guides give an index, mostly 3. Which GID stands there depends on the addresses of the interface and their "
        "order, so it differs between hosts, ports and reboots; NCCL takes it unchecked, and connecting fails."
    ),
    passes="NCCL_IB_GID_INDEX is unset, or names a routable GID on each RoCE port that NCCL takes",
    reads=(SETTING, "/sys/class/infiniband/*/ports/*/gids", "/sys/class/infiniband/*/ports/*/gid_attrs/types"),
    shows=(
        "Call to ibv_modify_qp failed with error Connection timed out",
        "ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR, "
        "local GID index 3",
        "NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",
    ),
    sure="show_gids; railgauge topo show --view rdma",
    remedy=(
        "unset it with NCCL 2.21 or later, which finds the GID itself (NCCL_IB_ADDR_RANGE picks a network); before, "
        "set the index of the RoCE v2 entry with the IPv4 address"
    ),
    links=("https://github.com/NVIDIA/nccl/issues/769", "https://github.com/NVIDIA/nccl/issues/426"),
    needs=(Need.MACHINE, Need.SETTINGS),
    check=_check,
)
