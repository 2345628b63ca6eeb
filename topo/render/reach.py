# SPDX-License-Identifier: Apache-2.0
"""Reachability, a rail a row: the number of connections and those that fail, nodes folded."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from railgauge.topo.findings.cluster.reach import ClusterReach, Pair
from railgauge.topo.values.node_names import folded


def matrix_lines(reach: ClusterReach) -> Iterator[str]:
    """A line for each rail where connections fail, and one for all others."""
    well = [row for row in reach.rows.values() if not row.failed]
    if well:
        tried = sum(row.tried for row in well)
        yield f"  reach over {', '.join(row.over for row in well)}: all {tried} connections succeed"
    for (here, there), row in reach.rows.items():
        if row.failed:
            use = here if here == there else f"{here} to {there}"
            name = use if row.over == use else f"{row.over} ({use})"
            yield f"  reach over {name}: {row.tried - len(row.failed)} of {row.tried} connections succeed"


def matrix_record(reach: ClusterReach) -> list[dict[str, Any]]:
    """The rows in a railgauge/findings/1 document."""
    return [
        {
            "from": here,
            "to": there,
            "over": row.over,
            "nodes": folded(row.nodes),
            "tried": row.tried,
            "failed": [{"from": sources, "to": targets} for sources, targets in _folded(row.failed)],
        }
        for (here, there), row in reach.rows.items()
    ]


def _folded(pairs: Iterable[Pair]) -> Iterator[tuple[str, str]]:
    """Sources and targets, folded: targets together that the same sources do not reach."""
    sources: dict[str, set[str]] = defaultdict(set)
    for source, target in pairs:
        sources[target].add(source)
    targets: dict[str, set[str]] = defaultdict(set)
    for target, its in sources.items():
        targets[folded(its)].add(target)
    return ((names, folded(its)) for names, its in sorted(targets.items()))
