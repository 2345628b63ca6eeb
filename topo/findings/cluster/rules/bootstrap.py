# SPDX-License-Identifier: Apache-2.0
"""NCCL's bootstrap interface on each node: whether it reaches the others, by address and network."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from railgauge.topo.findings.cards.network import SOCKET_IFNAME_VIRTUAL as CARD
from railgauge.topo.findings.cluster.examination import Examined
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.values.node_names import folded

MANY = 3
"""Nodes with one address on an interface: a node with two may be read before it gets the second (DHCP)."""


def find(nodes: Sequence[Examined]) -> Iterator[Finding]:
    """FAIL for an address that several nodes have; WARN for a few that use another interface in another network."""
    found = [(node.name, node.individual.bootstrap) for node in nodes if node.individual.bootstrap]
    told = [(name, *taken) for name, taken in found if taken]
    virtual = {node.individual.bootstrap[0] for node in nodes if node.individual.bootstrap and node.individual.virtual}
    equal = list(_equal_addresses(told, virtual))
    yield from equal
    several = {name for one in equal for name in one.evidence["nodes"]}
    told = [one for one in told if one[0] not in several]
    usual, count = (
        Counter((interface, network) for _, interface, _, network in told).most_common(1)[0] if told else ("", 0)
    )
    if 2 * count <= len(told):
        return
    odd: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, interface, _, network in told:
        if interface != usual[0] and network and usual[1] and network != usual[1]:
            odd[interface, network].append(name)
    for (interface, network), names in odd.items():
        yield CARD.finding(
            level=Level.WARN,
            host=folded(names),
            subject=interface,
            message=f"NCCL's bootstrap uses {interface} in {network}; {count} of {len(told)} nodes "
            f"use {usual[0]} in {usual[1]}",
            effect="without a route between the networks ranks cannot connect, and the job hangs when it starts",
            evidence={"interface": interface, "network": network, "usual": list(usual), "nodes": names},
        )


def _equal_addresses(told: Sequence[tuple[str, str, tuple[str, ...], str]], virtual: set[str]) -> Iterator[Finding]:
    holders: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, interface, addresses, _ in told:
        for address in addresses[:1]:
            holders[interface, address].append(name)
    for (interface, address), names in holders.items():
        if len(names) > 1 and (len(names) >= MANY or interface in virtual):
            yield CARD.finding(
                level=Level.FAIL,
                host=folded(names),
                subject=interface,
                message=f"NCCL's bootstrap uses {interface}, whose address {address} is on {len(names)} nodes",
                effect="ranks connect to their own node instead of another, and the job hangs when it starts",
                evidence={"interface": interface, "address": address, "nodes": names},
            )
