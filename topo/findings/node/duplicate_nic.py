# SPDX-License-Identifier: Apache-2.0
"""Two RDMA devices that say to be the same one."""

from collections import defaultdict
from collections.abc import Iterator

from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule


def _check(case: Case) -> Iterator[Finding]:
    devices = _hardware(case)
    unread = [device.name for device in devices if device.node_guid is None]
    if unread:
        yield RULE.unknown(unread[0], f"the node GUID of {', '.join(unread)} cannot be read", devices=unread)
    holders: dict[str, list[str]] = defaultdict(list)
    for device in devices:
        if (device.node_guid or "").strip("0:"):  # virtual functions have zeros until somebody gives them one
            holders[device.node_guid or ""].append(device.name)
    for guid, names in holders.items():
        if len(names) > 1:
            yield RULE.finding(
                Level.WARN,
                guid,
                f"{', '.join(names)} have one node GUID, {guid}",
                effect="on InfiniBand the subnet manager routes to one of them alone; NCCL may take them for one card",
                devices=names,
            )


def _hardware(case: Case) -> list[RdmaDevice]:
    return [device for device in (case.inventory.rdma if case.inventory else ()) if not device.virtual]


RULE = Rule(
    id="duplicate-nic",
    title="One GUID for two NICs",
    levels=(Level.WARN, Level.UNKNOWN),
    about=(
        "Node GUIDs are unique by make. Firmware that was written with another card's, or virtual functions that were "
        "given one twice, are found by neither side of a connection: ports stay down, or packets go to the other card."
    ),
    passes="every RDMA device has a node GUID of its own",
    reads=("/sys/class/infiniband/*/node_guid",),
    shows=("NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",),
    sure="cat /sys/class/infiniband/*/node_guid; ibnetdiscover reports duplicated GUIDs",
    remedy="flint -d DEVICE sg (physical cards), or ip link set PF vf N node_guid GUID (virtual functions)",
    concerns=lambda case: case.inventory is None or len(_hardware(case)) > 1,
    check=_check,
)
