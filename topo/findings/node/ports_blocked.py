# SPDX-License-Identifier: Apache-2.0
"""Firewalls and the local port range, as far as they can be read. Only a connection shows whether a port is open."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.network import PORTS_BLOCKED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

FEW = 2000  # a listening socket for each rank and channel, with reserve


def _check(machine: Machine) -> Iterator[Finding]:
    ip = machine.sources.ip
    if ip.filters is None:
        yield RULE.unknown(machine.host, "packet filters and their rules were not captured")
        return
    if ip.ports and ip.ports[1] - ip.ports[0] + 1 < FEW:
        first, last = ip.ports
        message = f"only {last - first + 1} local ports, {first} to {last}: NCCL gets its ports from this range"
        yield RULE.finding(Level.WARN, "ip_local_port_range", message, first=first, last=last)
    if ip.ufw:
        message = "ufw is enabled: other nodes cannot connect unless a rule allows them"
        yield RULE.finding(Level.INFO, "ufw", message, filters=list(ip.filters))
    elif ip.filters:
        names = ", ".join(ip.filters)
        message = f"{names} is loaded; its rules can be read by root only: connect from another node to be sure"
        yield RULE.unknown(machine.host, message, filters=list(ip.filters))


RULE = Rule(card=PORTS_BLOCKED, check=_check)
