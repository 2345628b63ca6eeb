# SPDX-License-Identifier: Apache-2.0
"""PCIe switches that redirect traffic between two devices to the root complex, because ACS is on; and root ports that
hand the traffic between GPUs without NVLink to the IOMMU.
"""

from collections.abc import Iterator, Mapping

from railgauge.topo.findings.cards.pcie import ACS_ENABLED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import has_peers, ports_between, root_ports_between
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine
from railgauge.topo.values.busid import ASSUMED

REDIRECT = {0x04: "ReqRedir", 0x08: "CmpltRedir", 0x10: "UpstreamFwd"}  # ACS control word; lspci's names
DIRECT = 0x40  # DirectTrans: translated requests go directly; used with ATS at both ends


def _check(machine: Machine) -> Iterator[Finding]:
    if nameless := _nameless(machine):
        yield from _of_nameless(machine, nameless)
        return
    ports = ports_between(machine)
    roots = [] if machine.sources.host.virtual else [*_root_ports(machine)]
    yield from roots
    if not ports or machine.sources.host.virtual:
        if not roots:
            yield RULE.unknown(machine.host, _no_switch(machine))
        return
    unread = [port for port in ports if not (config := machine.sources.pci_config.get(port)) or not config.whole]
    for port, pair in ports.items():
        config = machine.sources.pci_config.get(port)
        bits = _bits(machine, port)
        if config is not None and bits:
            direct = bool((config.acs or 0) & DIRECT)
            way = "; translated requests (ATS) go directly" if direct else ""
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
            machine.host,
            f"ACS of {len(unread)} of {len(ports)} switch ports can be read by root only: {_groups(machine, ports)}",
            ports=unread,
        )


def _nameless(machine: Machine) -> list[str]:
    """The ports that are known by their ACS alone, where nothing else of PCI is known."""
    ports = list(machine.sources.pci_config)
    return ports if all(port.startswith(f"{ASSUMED}:") for port in ports) else []


def _of_nameless(machine: Machine, ports: list[str]) -> Iterator[Finding]:
    redirecting = [bits for port in ports if (bits := _bits(machine, port))]
    if redirecting:
        names = sorted({name for bits in redirecting for name in bits}, key=[*REDIRECT.values()].index)
        yield RULE.finding(
            Level.WARN,
            machine.host,
            f"{' '.join(names)} on {len(redirecting)} of {len(ports)} PCI ports; which ports is not in the text: "
            "between GPUs and NICs below one switch it costs, lspci -vvv without grep tells",
            effect=RULE.card.effect,
        )


def _root_ports(machine: Machine) -> Iterator[Finding]:
    """Most kernels turn ACS on at root ports with the IOMMU: it costs only where GPUs send through them."""
    for port, pair in root_ports_between(machine).items():
        if bits := _bits(machine, port):
            yield RULE.finding(
                Level.INFO,
                port,
                f"{' '.join(bits)} on a root port: {pair[0]} and {pair[1]} reach each other through the IOMMU: if P2P "
                "between them hangs or gives wrong data, turn ACS or the IOMMU off",
                between=list(pair),
            )


def _bits(machine: Machine, port: str) -> list[str]:
    config = machine.sources.pci_config.get(port)
    return [name for bit, name in REDIRECT.items() if config and (config.acs or 0) & bit]


def _no_switch(machine: Machine) -> str:
    """Why ACS is unknown. Ports that a VM shows are its hypervisor's, and say nothing of the host's."""
    if machine.facts and machine.facts.host.virtual:
        return "switches are not visible in a VM: check on the host, or measure in the VM"
    return "no switch port found between these devices"


def _groups(machine: Machine, ports: Mapping[str, tuple[str, str]]) -> str:
    """What the IOMMU groups say about ACS at boot, when the kernel forms them; ACS may have changed since."""
    groups = machine.sources.iommu.by_device
    pairs = [(groups.get(one), groups.get(other)) for one, other in ports.values()]
    known = [(one.number, other.number) for one, other in pairs if one and other]
    if not known:
        return "IOMMU groups do not show it either"
    if all(one == other for one, other in known):
        return "they share IOMMU groups, so ACS was off at boot"
    return "each has its own IOMMU group, so ACS was on at boot"


def _concerns(machine: Machine) -> bool:
    """Whether there may be PCIe switches: those of a VM's host are not visible."""
    if machine.facts is None or _nameless(machine):
        return True
    seen = machine.facts.pci and not machine.facts.host.virtual
    return has_peers(machine) and (not seen or bool(ports_between(machine) or root_ports_between(machine)))


RULE = Rule(card=ACS_ENABLED, needs=(Need.MACHINE, Need.PCI), concerns=_concerns, check=_check)
