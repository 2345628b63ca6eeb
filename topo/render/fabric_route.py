# SPDX-License-Identifier: Apache-2.0
"""A route through a fabric as text and as the document railgauge/route/1."""

from collections.abc import Iterator, Sequence
from typing import Any

from railgauge.topo.fabric.model import End, FabricEndpoint, FabricMap
from railgauge.topo.fabric.route import Hop
from railgauge.topo.render.palette import Ink, Line, line
from railgauge.topo.render.wrapping import fitting


def route_lines(fabric: FabricMap, ends: tuple[FabricEndpoint, FabricEndpoint], hops: Sequence[Hop]) -> Iterator[Line]:
    """Where it starts, and each cable: the port that sends, the one that receives, the speed; the slowest is named."""
    yield line(f"{ends[0].name} -> {ends[1].name}: {len(hops)} cables, {len(hops) - 1} switches", Ink.HEADING)
    rows = [
        [f"[{hop.sender.port}]", "->", _text(fabric, hop.receiver), f"[{hop.receiver.port}]", hop.cable.rate]
        for hop in hops
    ]
    yield from map(line, fitting(rows, None))
    speeds = [hop.cable.gb_per_s for hop in hops if hop.cable.gb_per_s]
    if speeds:
        yield line(f"at most {min(speeds):g} GB/s")


def _text(fabric: FabricMap, end: End) -> str:
    one = fabric.endpoint_at.get(end)
    lid = one.lid if one else fabric.switches[end.device].lid
    return f"{one.name if one else fabric.device_name(end.device)}" + (f" (lid {lid})" if lid else "")


def route_document(
    fabric: FabricMap, ends: tuple[FabricEndpoint, FabricEndpoint], hops: Sequence[Hop]
) -> dict[str, Any]:
    """What the document holds beside its head."""
    speeds = [hop.cable.gb_per_s for hop in hops if hop.cable.gb_per_s]
    return {
        "from": ends[0].name,
        "to": ends[1].name,
        "gb_per_s": min(speeds) if speeds else None,
        "hops": [
            {
                "from": hop.sender.device,
                "from_name": fabric.device_name(hop.sender.device),
                "from_port": hop.sender.port,
                "to": hop.receiver.device,
                "to_name": fabric.device_name(hop.receiver.device),
                "to_port": hop.receiver.port,
                "gb_per_s": hop.cable.gb_per_s,
            }
            for hop in hops
        ],
    }
