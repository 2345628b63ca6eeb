# SPDX-License-Identifier: Apache-2.0
"""Strict reverse-path filters drop packets where several interfaces are in one network."""

import ipaddress
from collections import defaultdict
from collections.abc import Iterator

from railgauge.topo.facts.sources.sysfs_interfaces import SysfsInterface
from railgauge.topo.findings.cards.network import RP_FILTER_STRICT
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

STRICT = 1


def _check(machine: Machine) -> Iterator[Finding]:
    filters = dict(machine.sources.ip.rp_filter)
    interfaces = [one for one in machine.sources.interfaces if _ipv4(one)]
    if not filters:
        yield RULE.unknown(machine.host, "/proc/sys/net/ipv4/conf was not captured")
        return
    strict = [one for one in interfaces if filters.get(one.name) == STRICT]
    if not strict:
        return
    if any(one.prefix is None for one in interfaces):
        yield RULE.unknown(machine.host, "the networks of the interfaces are unknown: their prefixes were not captured")
        return
    networks: dict[str, list[str]] = defaultdict(list)
    for one in interfaces:
        networks[str(ipaddress.ip_network(f"{_ipv4(one)}/{one.prefix}", strict=False))].append(one.name)
    for network, names in networks.items():
        dropped = [one.name for one in strict if one.name in names]
        if len(names) > 1 and dropped:
            yield RULE.finding(
                Level.WARN,
                ", ".join(dropped),
                f"{', '.join(names)} share {network}, and rp_filter is strict: packets that arrive on another "
                f"interface than the "
                "route's are dropped",
                network=network,
                interfaces=names,
                strict=dropped,
            )


def _ipv4(interface: SysfsInterface) -> str | None:
    """The first IPv4 address that is not loopback."""
    addresses = (one for one in interface.addresses if ":" not in one and not one.startswith("127."))
    return next(addresses, None)


def _several(machine: Machine) -> bool:
    return machine.facts is None or sum(1 for one in machine.facts.interfaces if _ipv4(one)) > 1


RULE = Rule(card=RP_FILTER_STRICT, concerns=_several, check=_check)
