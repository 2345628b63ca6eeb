# SPDX-License-Identifier: Apache-2.0
"""Two <net> of one host with the same dev or the same name.

NCCL finds a NIC by its name and uses the first match (`ncclTopoFillNet`); dev it overwrites with the number in the
plugin (`ncclTopoGetSystem`). An interface without a PCI device stands below the CPU of each rank in NCCL's own dumps,
so equal ones below CPUs are no finding.
"""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import NET_DUPLICATE
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement

EFFECTS = {
    "dev": "NCCL numbers both by its plugin; railgauge reads them from the file as one NIC with two paths",
    "name": "NCCL uses the first one and leaves this one out",
}


def _check(file: Machine) -> Iterator[Finding]:
    first: dict[tuple[str, str, str], PlacedElement] = {}
    for net in file.topology.placed("net"):
        if net.get("net") == "0":
            continue  # a port that is part of a merged NIC
        for key, effect in EFFECTS.items():
            value = net.get(key)
            known = first.setdefault((net.host, key, value), net) if value is not None else net
            if known is not net and not _is_virtual_twin(net, known):
                yield RULE.at(
                    net,
                    Level.WARN,
                    f"{key} {value} also on line {known.line}",
                    subject=net.get("name"),
                    effect=effect,
                    attribute=key,
                    value=value,
                    lines=[known.line, net.line],
                )


def _is_virtual_twin(net: PlacedElement, known: PlacedElement) -> bool:
    """Whether both are one interface below the CPUs of two ranks."""
    apart = net.nearest("pci") is None and known.nearest("pci") is None and net.around[-1] is not known.around[-1]
    return apart and dict(net.element.attributes) == dict(known.element.attributes)


RULE = TopologyFileRule(card=NET_DUPLICATE, check=_check)
