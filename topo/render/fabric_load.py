# SPDX-License-Identifier: Apache-2.0
"""The load of a fabric's cables as text and as the document railgauge/load/1."""

from collections.abc import Iterator, Sequence
from typing import Any

from railgauge.topo.fabric.traffic import FabricLoad
from railgauge.topo.render.palette import Ink, Line, line
from railgauge.topo.render.wrapping import fitting


def load_lines(found: Sequence[FabricLoad], size: int, most: int) -> Iterator[Line]:
    """For rings and trees the most loaded cables, and the bandwidth that the worst allows."""
    for number, one in enumerate(found):
        if number:
            yield line("")
        how = "spread over all shortest paths" if one.adaptive else "by the forwarding tables"
        used = int((one.carried > 0).sum())
        yield line(f"{one.pattern}: {used} directed cables carry traffic, {how}", Ink.HEADING)
        if one.gb_per_s:
            yield line(f"the worst cable allows {one.gb_per_s:.1f} GB/s of algorithm bandwidth")
        rows = [["bytes", "ms", "from", "to"]]
        rows += [[_bytes(row["bytes"]), _ms(row["time_ms"]), row["from"], row["to"]] for row in cables(one, size, most)]
        yield from map(line, fitting(rows, None))


def _bytes(count: float) -> str:
    return f"{count:,.0f}"


def _ms(time: float | None) -> str:
    return "-" if time is None else f"{time:.3f}"


def cables(one: FabricLoad, size: int, most: int) -> list[dict[str, Any]]:
    """The most loaded directed cables."""
    fabric, routing = one.routing.fabric, one.routing
    found = []
    for place, _ in one.worst(most):
        end = routing.ends[place]
        carried, speed = float(one.carried[place]) * size, float(routing.gb_per_s[place])
        found.append(
            {
                "from": fabric.end_name(end),
                "to": fabric.end_name(fabric.cable_at[end].other(end)),
                "bytes": round(carried, 1),
                "time_ms": round(carried / speed / 1e6, 6) if speed else None,
                "gb_per_s": speed or None,
            }
        )
    return found


def load_document(found: Sequence[FabricLoad], nodes: Sequence[str], size: int, most: int) -> dict[str, Any]:
    """What the document holds beside its head."""
    return {
        "nodes": list(nodes),
        "bytes": size,
        "patterns": pattern_records(found, size, most),
    }


def pattern_records(found: Sequence[FabricLoad], size: int, most: int) -> list[dict[str, Any]]:
    """Rings, then trees."""
    return [
        {
            "pattern": str(one.pattern),
            "adaptive": one.adaptive,
            "gb_per_s": one.gb_per_s,
            "used": int((one.carried > 0).sum()),
            "cables": cables(one, size, most),
        }
        for one in found
    ]
