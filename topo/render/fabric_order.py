# SPDX-License-Identifier: Apache-2.0
"""An order of nodes as text, as the files that launchers read, and as the document railgauge/order/1."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from railgauge.topo.fabric.order import NodeOrder, OrderQuality
from railgauge.topo.render.palette import Ink, Line, line
from railgauge.topo.values.node_names import folded


class OrderForm(StrEnum):
    """What an order is printed as."""

    HOSTFILE = "hostfile"
    SLURM = "slurm"
    RANKFILE = "rankfile"


def order_lines(found: NodeOrder) -> Iterator[Line]:
    """Before, after and the bound, and the nodes in order, one a line."""
    yield line(f"before: {_quality(found.before)}")
    yield line(f"after:  {_quality(found.after)}", Ink.GOOD)
    bound = f"; {found.bound_gb_per_s:.1f} GB/s: {found.bound_why}" if found.bound_gb_per_s else ""
    yield line(f"bound:  {found.least_crossings} steps between blocks{bound}", Ink.QUIET)
    yield line("")
    yield from map(line, found.nodes)


def _quality(one: OrderQuality) -> str:
    speed = f"; ring {one.gb_per_s:.1f} GB/s, limited by {one.worst}" if one.gb_per_s else ""
    return f"{one.crossings} steps of a ring between blocks{speed}"


def order_file(nodes: Sequence[str], form: OrderForm, slots: int) -> str:
    """A hostfile of Open MPI or MPICH, a SLURM_HOSTFILE (srun -m arbitrary), or Open MPI's rankfile."""
    if form is OrderForm.HOSTFILE:
        return "".join(f"{node} slots={slots}\n" for node in nodes)
    if form is OrderForm.SLURM:
        return "".join(f"{node}\n" * slots for node in nodes)
    ranks = ((node, slot) for node in nodes for slot in range(slots))
    return "".join(f"rank {rank}={node} slot={slot}\n" for rank, (node, slot) in enumerate(ranks))


def order_document(found: NodeOrder) -> dict[str, Any]:
    """What the document holds beside its head."""
    return {
        "nodes": list(found.nodes),
        "folded": folded(found.nodes),
        "before": _record(found.before),
        "after": _record(found.after),
        "bound": {
            "crossings": found.least_crossings,
            "gb_per_s": found.bound_gb_per_s,
            "why": found.bound_why or None,
        },
    }


def _record(one: OrderQuality) -> dict[str, Any]:
    return {"crossings": one.crossings, "gb_per_s": one.gb_per_s, "worst_cable": one.worst or None}
