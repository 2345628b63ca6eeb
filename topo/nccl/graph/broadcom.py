# SPDX-License-Identifier: Apache-2.0
"""Broadcom PCI switches that show as two levels but switch as one are flattened (`ncclTopoFlattenBcmSwitches`).

This decides between PIX and PXB. Only exact ids count: vendor 0x1000 with device 0xc010 (Gen4), or 0xc030 (Gen5) with
the level in the id.
"""

from railgauge.topo.nccl.graph.model import NodeKind
from railgauge.topo.nccl.graph.system_builder import SystemBuilder

GEN4 = 0x1000C0101000A000
GEN5 = 0x1000C03010000000
ID_MASK = 0xFFFFFFFFFFFFF000


def generation(device: int, level: int) -> int:
    """4 or 5 for a switch of that generation seen at `level` (0 parent, 1 child), 0 for anything else (`getBcmGen`)."""
    if device & ID_MASK == GEN4:
        return 4
    return 5 if device & ID_MASK == GEN5 | level * 0x1000 else 0


def flatten(builder: SystemBuilder) -> None:
    """Merge child switches of the same generation into their parent."""
    for switch in builder.of_kind(NodeKind.PCI):
        if switch in builder.nodes and (found := generation(builder.node(switch).device or 0, 0)):
            _absorb(builder, switch, found)


def _absorb(builder: SystemBuilder, switch: str, wanted: int) -> None:
    children = [
        target
        for target, _, _ in builder.links[switch]
        if builder.node(target).kind is NodeKind.PCI and generation(builder.node(target).device or 0, 1) == wanted
    ]
    builder.links[switch] = [wire for wire in builder.links[switch] if wire.target not in children]
    for child in children:
        for wire in builder.links[child]:
            if wire.target != switch:
                builder.links[switch].append(wire)
                _redirect(builder, wire.target, child, switch)
        builder.remove(child)


def _redirect(builder: SystemBuilder, node: str, old: str, new: str) -> None:
    wires = builder.links[node]
    at = next((i for i, wire in enumerate(wires) if wire.target == old), None)
    if at is not None:
        wires[at] = wires[at]._replace(target=new)
