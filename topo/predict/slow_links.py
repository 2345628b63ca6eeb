# SPDX-License-Identifier: Apache-2.0
"""GPUs and NICs whose links run with fewer lanes than a plan counts on: NCCL's topology holds the most they can do."""

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.sources.pci_functions import degraded
from railgauge.topo.nccl.graph.model import NodeKind, System
from railgauge.topo.predict.limit import name_of
from railgauge.topo.values.busid import to_number


def slow_links(system: System, inventory: MachineFacts) -> list[str]:
    """A sentence for each of them, with the change to predict by; nothing where a link cannot be read."""
    functions = {function.bus_id: function for function in inventory.pci}
    slow = {
        to_number(bus_id): function.link.lanes
        for bus_id, function in functions.items()
        if degraded(function, functions.get(function.parent or ""))
    }
    cards = [node for node in system.nodes if node.kind in (NodeKind.DEV, NodeKind.NIC) and node.bus_id]
    return [
        f"{name} runs with {slow[number]} lanes, fewer than NCCL plans with: --set {name}.width={slow[number]}"
        for name, number in ((name_of(system, card), to_number(card.bus_id or "0")) for card in cards)
        if number in slow
    ]
