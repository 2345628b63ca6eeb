# SPDX-License-Identifier: Apache-2.0
"""GPUs and NICs whose links are narrower than a plan assumes: NCCL's topology has their maximum width."""

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.nccl.graph.link_facts import lanes_short
from railgauge.topo.nccl.graph.model import NodeKind, System
from railgauge.topo.predict.limit import name_of
from railgauge.topo.values.busid import to_number


def slow_links(system: System, inventory: MachineFacts) -> list[str]:
    """One sentence per link, with the option to predict its effect; nothing if a link cannot be read."""
    slow = {to_number(bus_id): lanes for bus_id, lanes in lanes_short(inventory).items()}
    cards = [node for node in system.nodes if node.kind in (NodeKind.DEV, NodeKind.NIC) and node.bus_id]
    return [
        f"{name} runs at x{slow[number]}, narrower than NCCL assumes: --set {name}.width={slow[number]} predicts it"
        for name, number in ((name_of(system, card), to_number(card.bus_id or "0")) for card in cards)
        if number in slow
    ]
