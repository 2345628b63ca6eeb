# SPDX-License-Identifier: Apache-2.0
"""What can be read of firewalls and local ports. Whether ports are open is only shown by connecting to them."""

from collections.abc import Iterator

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


RULE = Rule(
    id="ports-blocked",
    title="A firewall may stop connections between nodes",
    levels=(Level.INFO, Level.WARN, Level.FAIL, Level.UNKNOWN),
    about=(
        "The bootstrap and the socket transport listen on ports that the kernel chooses (ip_local_port_range); NCCL "
        "has no setting for them. firewalld and ufw refuse those by default: 'No route to host' on a reachable host "
        "is a firewall that rejects. cluster check connects all nodes with each other."
    ),
    passes="no packet filter is loaded as a module of the kernel, and there are enough local ports",
    reads=(
        "/sys/module/{nf_tables,ip_tables}",
        "/etc/ufw/ufw.conf",
        "/proc/sys/net/ipv4/ip_local_port_range",
        "connections between nodes (cluster check)",
    ),
    shows=(
        "socketPollConnect: Connect to 10.0.0.4<56849> returned 113(No route to host)",
        "socketStartConnect: Connect to 10.0.0.2<45763> failed : Software caused connection abort",
        "Connection refused",
    ),
    sure="nc -l 50000 on one node and nc -zv NODE 50000 on another; nft list ruleset as root",
    remedy="let all TCP between the nodes in (ufw allow from SUBNET; firewalld: zone trusted for the interface)",
    links=("https://github.com/sgl-project/sglang/issues/3820", "https://github.com/NVIDIA/nccl-tests/issues/162"),
    check=_check,
)
