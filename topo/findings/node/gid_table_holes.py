# SPDX-License-Identifier: Apache-2.0
"""GID tables with holes, so that no one index is right for all ports."""

from collections import Counter
from collections.abc import Iterator

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.nccl.detect.ib_plugin import NcclPort
from railgauge.topo.nccl.settings.gid import GidSettings, choose_gid


def _roce(case: Case) -> list[NcclPort]:
    ports = (port for port in case.rdma_ports if port.rdma_port.link_layer == "Ethernet")
    return [port for port in ports if port.device.transport == "InfiniBand" and not port.device.virtual]


def _check(case: Case) -> Iterator[Finding]:
    ports = _roce(case)
    for port in ports:
        if port.rdma_port.gid_table_length is None:
            yield RULE.unknown(f"{port.name}:{port.rdma_port.number}", "its GIDs are not recorded")
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


RULE = Rule(
    id="gid-table-holes",
    title="A GID table with holes",
    levels=(Level.INFO, Level.WARN, Level.UNKNOWN),
    about=(
        "In a pod the table also has entries of other network namespaces, which read as empty; addresses that came and "
        "went leave holes too. NCCL since 2.21 walks over them. Before, and with NCCL_IB_GID_INDEX, one index has to "
        "fit all ports, and does not where their tables differ."
    ),
    passes="the GID table of each RoCE port has no hole before the entry that NCCL takes",
    reads=("/sys/class/infiniband/*/ports/*/gids", "/sys/class/infiniband/*/ports/*/gid_attrs/types"),
    shows=("Call to ibv_modify_qp failed with error No such device", "Call to ibv_modify_qp failed with error Invalid"),
    sure="show_gids in the container and on the host",
    remedy="leave NCCL_IB_GID_INDEX unset and use NCCL 2.21 or later, or NCCL_IB_ADDR_RANGE to name the network",
    links=("https://github.com/NVIDIA/nccl/issues/1131", "https://github.com/NVIDIA/nccl/issues/2157"),
    concerns=lambda case: case.inventory is None or bool(_roce(case)),
    check=_check,
)
