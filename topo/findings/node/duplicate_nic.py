# SPDX-License-Identifier: Apache-2.0
"""Two RDMA devices with the same node GUID."""

from collections import defaultdict
from collections.abc import Iterator

from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice
from railgauge.topo.findings.cards.rdma import DUPLICATE_NIC
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


def _check(machine: Machine) -> Iterator[Finding]:
    devices = _hardware(machine)
    unread = [device.name for device in devices if device.node_guid is None]
    if unread:
        yield RULE.unknown(unread[0], f"the node GUID of {', '.join(unread)} cannot be read", devices=unread)
    holders: dict[str, list[str]] = defaultdict(list)
    for device in devices:
        if (device.node_guid or "").strip("0:"):  # virtual functions have zeros until one is set
            holders[device.node_guid or ""].append(device.name)
    for guid, names in holders.items():
        if len(names) > 1:
            yield RULE.finding(
                Level.WARN,
                guid,
                f"{', '.join(names)} have the same node GUID, {guid}",
                effect=RULE.card.effect,
                devices=names,
            )


def _hardware(machine: Machine) -> list[RdmaDevice]:
    return [device for device in machine.sources.rdma if not device.virtual]


RULE = Rule(
    card=DUPLICATE_NIC, concerns=lambda machine: machine.facts is None or len(_hardware(machine)) > 1, check=_check
)
