# SPDX-License-Identifier: Apache-2.0
"""How the kernel treats IP packets: reverse-path filters, local ports, and what can be seen of a firewall.

Kernel: Documentation/networking/ip-sysctl.rst. A firewall's rules need root; that one is there does not.
"""

from typing import NamedTuple

from railgauge.topo.facts.reader import Reader
from railgauge.topo.values.number import whole

CONF = "/proc/sys/net/ipv4/conf"
PORT_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"
MODULES = "/sys/module"
ALWAYS_THERE = "kernel"  # below /sys/module: where it is not, a capture or tree has no list of the modules
FILTERS = ("nf_tables", "ip_tables", "ip6_tables")
UFW = "/etc/ufw/ufw.conf"


class IpStack(NamedTuple):
    """rp_filter: by interface, the stricter of its own and that of all (0 off, 1 strict, 2 loose); a greater number
    wins in the kernel, so that 2 of all turns 1 off. ports: the local ports, first and last. filters: the kernel's
    filters that are loaded; None where its modules were not looked at. ufw: it is enabled. Absent is None or empty.
    """

    rp_filter: tuple[tuple[str, int], ...] = ()
    ports: tuple[int, int] | None = None
    filters: tuple[str, ...] | None = None
    ufw: bool = False


def read_ip_stack(reader: Reader) -> IpStack:
    """What there is on the machine."""
    shared = whole(reader.text(f"{CONF}/all/rp_filter"))
    names = [name for name in reader.entries(CONF) if name not in ("all", "default", "lo")]
    own = ((name, whole(reader.text(f"{CONF}/{name}/rp_filter"))) for name in names)
    modules = reader.entries(MODULES)
    return IpStack(
        rp_filter=tuple((name, max(value, shared or 0)) for name, value in own if value is not None),
        ports=_ports(reader.text(PORT_RANGE)),
        filters=tuple(name for name in FILTERS if name in modules) if ALWAYS_THERE in modules else None,
        ufw="ENABLED=yes" in (reader.text(UFW) or "").splitlines(),
    )


def _ports(text: str | None) -> tuple[int, int] | None:
    numbers = [whole(part) for part in (text or "").split()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 and numbers[0] and numbers[1] else None
