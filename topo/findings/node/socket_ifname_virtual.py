# SPDX-License-Identifier: Apache-2.0
"""NCCL's bootstrap or socket transport on an interface that leads to no other machine: a bridge, a tunnel, loopback."""

import re
import shlex
from collections.abc import Iterator

from railgauge.topo.findings.cards.network import SOCKET_IFNAME_VIRTUAL
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

SETTING = "NCCL_SOCKET_IFNAME"
VIRTUAL = re.compile(
    r"(?:lo|docker|podman|veth|virbr|vnet|br-|cni|flannel|cali|tunl|vxlan|cilium|lxc|lxd|kube|nodelocaldns|weave"
    r"|tailscale|wg|tun|tap|dummy|ifb)"
)
OF_IPV4 = "0000:0000:0000:0000:0000:ffff:"
"""How a GID begins that is an IPv4 address."""
LINK_LOCAL = "169.254."  # RFC 3927
KINDS = ("bridge", "vxlan", "wireguard", "geneve", "tun")  # DEVTYPE; bonds, VLANs and macvlans lead outside


def _check(machine: Machine) -> Iterator[Finding]:
    names = machine.interface_names
    if names is None:
        yield RULE.unknown(machine.host, "the addresses of its interfaces are unknown")
        return
    chosen = machine.sockets_under(machine.settings) or ()
    real = [name for name in names if not _is_virtual(machine, name)]
    for place, name in enumerate(chosen):
        if _is_virtual(machine, name):
            yield RULE.finding(
                _level(machine, place, real),
                name,
                f"NCCL uses {name} for {'its bootstrap' if place == 0 else 'sockets, among others'}, {_instead(real)}",
                fix=bool(real),
                chosen=list(chosen),
                leading_outside=real,
            )


def _level(machine: Machine, place: int, real: list[str]) -> Level:
    """FAIL for the bootstrap where another interface leads outside; without one a job of this node alone works, and
    RDMA NICs are there for larger ones. An IPv4 address in a GID table is one that the record of interfaces lacks.
    """
    if place:
        return Level.INFO
    gids = [gid.gid for one in machine.rdma_ports for gid in one.rdma_port.gids or ()]
    alone = bool(machine.rdma_ports) and not any(gid.startswith(OF_IPV4) for gid in gids)
    return Level.FAIL if real else Level.WARN if alone else Level.INFO


def _instead(real: list[str]) -> str:
    """What to use, as a setting quoted for a shell."""
    if not real:
        return "and no interface leads outside"
    return f"though {real[0]} leads outside ({SETTING}={shlex.quote(f'={real[0]}')})"


def _is_virtual(machine: Machine, name: str) -> bool:
    """Whether it leads only to this machine or an overlay. The only interface of a container does not count."""
    interfaces = machine.sources.interfaces
    found = next((one for one in interfaces if one.name == name), None)
    ipv4 = [address for address in (found.addresses if found else ()) if ":" not in address]
    if ipv4 and all(address.startswith(LINK_LOCAL) for address in ipv4):
        return True  # the USB interface of a BMC, or one that got no address
    if found is not None and found.bus_id is not None:
        return False
    return VIRTUAL.match(name) is not None or (found is not None and found.kind in KINDS)


RULE = Rule(card=SOCKET_IFNAME_VIRTUAL, check=_check)
