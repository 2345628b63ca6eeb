# SPDX-License-Identifier: Apache-2.0
"""The interfaces in a log: those of the bootstrap and of data over sockets, and whether other nodes reach them."""

import ipaddress
import re
from collections import defaultdict
from collections.abc import Iterator

from railgauge.topo.findings.cards.network import PORTS_BLOCKED, SOCKET_IFNAME_VIRTUAL
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.words import named

VIRTUAL = re.compile(
    r"(?:docker|virbr|veth|cni|flannel|br-|cali|tailscale|lxc|lxd|tunl|kube|podman|vmnet|vnet|tap|weave|cilium|wg|zt|dummy)\S*|lo"
)
"""Interfaces that do not reach other nodes."""
LOOPBACK = "lo"
SYSTEM_ERROR = re.compile(r"nccl(?:System|Remote)Error|unhandled system error|remote process exited")
"""What NCCL calls an error of a socket, among others."""
SOCKETS_FAILED = re.compile(r"(?:socket|bootstrap)\.cc:\d+ -> [26]\b")
"""A function of NCCL's on sockets that hands an error on."""
DOCKER = ipaddress.ip_network("172.17.0.0/16")
"""What docker gives to the containers of one host by default."""


def interfaces(log: Log) -> Iterator[Finding]:
    """Interfaces that no other node reaches, and those of different networks."""
    if log.on_one_node:
        return
    yield from _bootstraps(log)
    yield from _data(log)
    yield from _subnets(log)


def _bootstraps(log: Log) -> Iterator[Finding]:
    several = len(log.hosts) > 1
    failed = any(seen.entry.card is PORTS_BLOCKED for seen in log.sightings.values())
    fails = failed or _unexplained(log)
    for host, chosen in sorted(log.bootstraps.items()):
        name, _, address = chosen.partition(" ")
        if (why := _unreachable(name, address) or (_of_docker(address) if fails else "")) and (
            name != LOOPBACK or several or failed
        ):
            level = Level.FAIL if several or (name == LOOPBACK and failed) else Level.WARN
            message = f"{named([host])} uses {chosen} for the bootstrap, {why}"
            if level is Level.WARN:
                message += "; with ranks on other hosts the job hangs here"
            yield SOCKET_IFNAME_VIRTUAL.finding(level, host, message)


def _data(log: Log) -> Iterator[Finding]:
    """Interfaces that sockets may use for data, where they are used or a rank could not connect to one, or where
    nothing else tells why an operation on sockets failed.
    """
    by_socket = any(one.via.startswith("NET/Socket") for one, _ in log.connections.traffic())
    unexplained = _unexplained(log)
    blocked = [seen.text for seen in log.sightings.values() if seen.entry.card is PORTS_BLOCKED]
    for host, networks in sorted(log.devices.items()):
        beyond = defaultdict(list)
        for device in networks.get("Socket", ()):
            name, _, rest = device.partition(":")
            address = rest.partition("<")[0]
            if (why := _unreachable(name, address)) and name != LOOPBACK:
                failed = any(address and address in text for text in blocked)
                beyond[failed, why].append(f"{name} {address}".strip())
        for (failed, why), ways in beyond.items():
            matters = by_socket or unexplained or len(log.hosts) > 1
            message = f"{named([host])} uses {', '.join(ways)} for data, {why}"
            message += ": a rank could not connect to it" if failed else ""
            message += "" if failed or matters else ": it matters only if the job has other nodes"
            level = Level.FAIL if failed else Level.WARN if matters else Level.INFO
            yield SOCKET_IFNAME_VIRTUAL.finding(level, f"{host} {ways[0].split()[0]}".strip(), message)


def _unexplained(log: Log) -> bool:
    """Whether a log has an error that may be one of sockets, and nothing that it comes from."""
    seen = log.sightings.values()
    known = any(one.entry.pattern.level is Level.FAIL and not one.entry.pattern.follows for one in seen)
    of_sockets = any(SYSTEM_ERROR.search(one.text) for one in seen) or any(map(SOCKETS_FAILED.search, log.ends))
    return not known and of_sockets


def _unreachable(name: str, address: str) -> str:
    """Why other nodes do not reach an interface; "" if nothing speaks against it."""
    if VIRTUAL.fullmatch(name):
        return "an interface that other nodes do not reach"
    ip = _ip(address)
    return "whose address is link-local" if ip is not None and ip.is_link_local else ""


def _of_docker(address: str) -> str:
    ip = _ip(address)
    return (
        "an address of docker's own bridge, which every host has for itself" if ip is not None and ip in DOCKER else ""
    )


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None


def _subnets(log: Log) -> Iterator[Finding]:
    """Hosts whose bootstrap is in other networks: by the first 16 bits, as the log has no masks."""
    places: dict[str, list[str]] = {}
    for host, chosen in sorted(log.bootstraps.items()):
        name, _, address = chosen.partition(" ")
        ip = _ip(address)
        if isinstance(ip, ipaddress.IPv4Address) and not _unreachable(name, address):
            places.setdefault(f"{'.'.join(address.split('.')[:2])}.x.x", []).append(f"{host} {name}")
    if len(places) > 1:
        parts = "; ".join(f"{net} on {named(hosts)}" for net, hosts in places.items())
        message = (
            f"the bootstrap uses interfaces of different networks: {parts}; without a route between them the job hangs"
        )
        yield SOCKET_IFNAME_VIRTUAL.finding(Level.WARN, "networks", message)
