# SPDX-License-Identifier: Apache-2.0
"""A NIC or GPU with another firmware than its siblings: those of one board, or of one model; a GPU of another model
than those that it has NVLinks with; a port of another link layer than others that share a switch with a GPU each.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from railgauge.topo.findings.cards.comparison import DEVICES_DIFFER
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import rails
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine

LEAST = 3  # siblings, of which most must agree
Siblings = Mapping[str, tuple[str, str | None]]
"""By bus id: the name, and what it has."""


def _check(machine: Machine) -> Iterator[Finding]:
    for what, siblings in _sets(machine):
        values = Counter(value for _, value in siblings.values() if value)
        usual, votes = next(iter(values.most_common(1)), ("", 0))
        unread = [name for name, value in siblings.values() if not value]
        if unread:
            yield RULE.unknown(unread[0], f"{what} not read of {len(unread)} of {len(siblings)} siblings")
        if 2 * votes > len(siblings):
            for bus_id, (name, value) in siblings.items():
                if value and value != usual:
                    message = f"{name} ({bus_id}): {what} {value}, {votes} of {len(siblings)} have {usual}"
                    yield RULE.finding(Level.WARN, bus_id, message, what=what, value=value, usual=usual)


def _sets(machine: Machine) -> list[tuple[str, Siblings]]:
    """The NICs of each board with their firmware, and those beside GPUs with the link layer of their first port; the
    GPUs of each model with their VBIOS, and those with NVLinks (boards have them between GPUs of one model) with their
    model; not fewer than LEAST.
    """
    found: dict[tuple[str, str], dict[str, tuple[str, str | None]]] = defaultdict(dict)
    beside_gpus = rails(machine)
    for nic in machine.sources.rdma:
        if not nic.virtual and nic.bus_id and (board := nic.board_id or nic.hca_type):
            found["firmware", board][nic.bus_id] = nic.name, nic.firmware
            if nic.bus_id in beside_gpus and nic.ports:
                found["link layer", board][nic.bus_id] = nic.name, nic.ports[0].link_layer
    for gpu in machine.sources.gpus:
        found["VBIOS", gpu.name or ""][gpu.bus_id] = f"GPU{gpu.index}", gpu.vbios
        if gpu.links:
            found["model", "NVLink"][gpu.bus_id] = f"GPU{gpu.index}", gpu.name
    return [(what, siblings) for (what, _), siblings in found.items() if len(siblings) >= LEAST]


def _concerns(machine: Machine) -> bool:
    return machine.facts is None or bool(_sets(machine))


RULE = Rule(card=DEVICES_DIFFER, needs=(Need.MACHINE,), concerns=_concerns, check=_check)
