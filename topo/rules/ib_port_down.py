# SPDX-License-Identifier: Apache-2.0
"""An RDMA port that is down, while others of the machine are up."""

from collections.abc import Iterator

from railgauge.topo.findings import Finding, Level
from railgauge.topo.rules.case import Case
from railgauge.topo.rules.rule import Rule
from railgauge.topo.sources.sysfs_infiniband import RdmaDevice, RdmaPort


def _check(case: Case) -> Iterator[Finding]:
    ports = _ports(case)
    up = [port for _, port in ports if port.is_active]
    for device, port in ports:
        subject = f"{device.name}:{port.number}"
        if port.state is None:
            yield RULE.unknown(subject, "its state cannot be read")
        elif not port.is_active:
            yield RULE.finding(
                Level.WARN if up else Level.FAIL,
                subject,
                f"it is {port.state}, physically {port.physical_state or 'unknown'}: NCCL leaves it out",
                state=port.state,
                physical_state=port.physical_state,
                active_ports=len(up),
            )


def _ports(case: Case) -> list[tuple[RdmaDevice, RdmaPort]]:
    devices = case.inventory.rdma if case.inventory else ()
    return [(device, port) for device in devices for port in device.ports]


RULE = Rule(
    id="ib-port-down",
    title="An RDMA port that is down",
    levels=(Level.WARN, Level.FAIL, Level.UNKNOWN),
    about="NCCL takes only ports that are ACTIVE. A port that is down takes its rail out of every ring through it.",
    passes="every RDMA port is ACTIVE",
    reads=("/sys/class/infiniband/*/ports/*/state", "/sys/class/infiniband/*/ports/*/phys_state"),
    shows=("NET/IB : No device found.", "Got async event : port error", "NET/IB : Got completion ... with error 12"),
    sure="ibstat, or cat /sys/class/infiniband/*/ports/*/state; with Polling the cable or the other end is dead",
    remedy="see cable, optics and switch port; on InfiniBand a subnet manager (INIT means there is none)",
    links=("https://github.com/leptonai/gpud/issues/482", "https://github.com/NVIDIA/nccl/issues/394"),
    concerns=lambda case: case.inventory is None or bool(_ports(case)),
    check=_check,
)
