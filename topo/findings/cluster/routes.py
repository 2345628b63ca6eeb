# SPDX-License-Identifier: Apache-2.0
"""Path types that differ between nodes of one design without another difference on the path.

Paths follow from the wiring of a machine. So they are computed once for each wiring, on its first node, and compared
with those of the most frequent one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from railgauge.topo.compare.change import Change
from railgauge.topo.compare.path_changes import path_changes
from railgauge.topo.errors import Error
from railgauge.topo.findings.cluster.alike import Alike
from railgauge.topo.findings.cluster.node import TOPOLOGY_FILE, Sheet
from railgauge.topo.findings.cluster.vote import Vote

WIRED = ("GPU", "NIC", "NVSwitch", "PCI bridge", "NUMA node", "port", "host", TOPOLOGY_FILE)
FACTS = (
    "width", "max width", "max speed", "place", "NUMA node", "NVLink peers", "chip-to-chip links", "peers with P2P",
    "GPUDirect RDMA", "sm", "state", "rate", "cores", "CPU", "content",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Routed:
    """Equal nodes, the file of the first, and the subjects that are already reported."""

    members: Alike
    path: str
    touched: frozenset[str]


def route_changes(classes: Sequence[Routed]) -> Iterator[tuple[Alike, Change, Vote]]:
    """The path types that differ from those of the most frequent wiring, and the number of its nodes."""
    wirings: dict[object, list[Routed]] = {}
    for one in classes:
        wirings.setdefault(_wiring(one.members.sheet), []).append(one)
    if len(wirings) < 2:
        return
    counts = {key: sum(len(one.members.nodes) for one in its) for key, its in wirings.items()}
    usual = max(counts, key=lambda key: counts[key])
    vote = Vote(None, counts[usual], sum(counts.values()))
    for key, its in wirings.items():
        if key != usual:
            for change in _changed(wirings[usual][0], its[0]):
                yield from ((one.members, change, vote) for one in its)


def _wiring(sheet: Sheet) -> object:
    """The facts that determine path types."""
    return tuple(
        (item.kind, item.id, tuple(item.facts.get(what) for what in FACTS)) for item in sheet if item.kind in WIRED
    )


def _changed(usual: Routed, other: Routed) -> tuple[Change, ...]:
    from railgauge.topo.machine import load_machine

    try:
        before, after = (load_machine(one.path, environment={}).topology for one in (usual, other))
    except Error:  # a file that was removed since it was read
        return ()
    return tuple(path_changes(before, after, other.touched))
