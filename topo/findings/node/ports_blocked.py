# SPDX-License-Identifier: Apache-2.0
"""What can be read of firewalls and local ports. Whether ports are open is only shown by connecting to them."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.network import PORTS_BLOCKED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule

FEW = 2000  # a listening socket for each rank and channel, and room for others


def _check(case: Case) -> Iterator[Finding]:
    ip = case.evidence.ip
    if ip.filters is None:
        yield RULE.unknown(case.host, "neither the kernel's filters nor their rules were looked at")
        return
    if ip.ports and ip.ports[1] - ip.ports[0] + 1 < FEW:
        first, last = ip.ports
        message = f"only {last - first + 1} local ports, {first} to {last}: NCCL lets the kernel choose its ports"
        yield RULE.finding(Level.WARN, "ip_local_port_range", message, first=first, last=last)
    if ip.ufw:
        message = "ufw is enabled: unless a rule lets the other nodes in, they cannot connect"
        yield RULE.finding(Level.INFO, "ufw", message, filters=list(ip.filters))
    elif ip.filters:
        names = ", ".join(ip.filters)
        message = f"{names} is loaded, and its rules cannot be read without root: connect from another node to be sure"
        yield RULE.unknown(case.host, message, filters=list(ip.filters))


RULE = Rule(card=PORTS_BLOCKED, check=_check)
