# SPDX-License-Identifier: Apache-2.0
"""PCIe switches that send traffic between two devices up to the root, because ACS tells them to."""

from collections.abc import Iterator, Mapping

from railgauge.topo.findings.cards.pcie import ACS_ENABLED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.peers import has_peers, ports_between
from railgauge.topo.findings.node.rule import Need, Rule

REDIRECT = {0x04: "ReqRedir", 0x08: "CmpltRedir", 0x10: "UpstreamFwd"}  # ACS control word; lspci's names
DIRECT = 0x40  # DirectTrans: translated requests go straight, which ATS on both ends then uses


def _check(case: Case) -> Iterator[Finding]:
    ports = ports_between(case)
    if not ports:
        yield RULE.unknown(case.host, _no_switch(case))
        return
    unread = [port for port in ports if not (config := case.evidence.pci_config.get(port)) or not config.whole]
    for port, pair in ports.items():
        config = case.evidence.pci_config.get(port)
        bits = [name for bit, name in REDIRECT.items() if config and (config.acs or 0) & bit]
        if config is not None and bits:
            direct = bool((config.acs or 0) & DIRECT)
            way = "; translated requests (ATS) go straight" if direct else ""
            yield RULE.finding(
                Level.INFO if direct else Level.WARN,
                port,
                f"{' '.join(bits)}: {pair[0]} and {pair[1]} reach each other through the root complex{way}",
                effect="" if direct else RULE.card.effect,
                acs_control=f"{config.acs:#06x}",
                between=list(pair),
            )
    if unread:
        yield RULE.unknown(
            case.host,
            f"ACS of {len(unread)} of {len(ports)} switch ports is shown to root alone: {_groups(case, ports)}",
            ports=unread,
        )


def _no_switch(case: Case) -> str:
    if case.inventory and case.inventory.host.virtual:
        return "a guest does not see the switches: look on its host; inside only a measurement tells"
    return "no switch port is known between these devices"


def _groups(case: Case, ports: Mapping[str, tuple[str, str]]) -> str:
    """What the shape of the IOMMU's groups says: the kernel makes them when it starts, ACS may be changed later."""
    groups = case.evidence.iommu.by_device
    pairs = [(groups.get(one), groups.get(other)) for one, other in ports.values()]
    known = [(one.number, other.number) for one, other in pairs if one and other]
    if not known:
        return "IOMMU groups do not tell either"
    if all(one == other for one, other in known):
        return "they share IOMMU groups, so it was off when the kernel started"
    return "they have IOMMU groups of their own, so it was on when the kernel started"


def _concerns(case: Case) -> bool:
    """A machine without switches has nothing to redirect; where they cannot be seen there may be some."""
    if case.inventory is None:
        return True
    seen = case.inventory.pci and not case.inventory.host.virtual
    return has_peers(case) and (not seen or bool(ports_between(case)))


RULE = Rule(card=ACS_ENABLED, needs=(Need.MACHINE, Need.PCI), concerns=_concerns, check=_check)
