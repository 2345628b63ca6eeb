# SPDX-License-Identifier: Apache-2.0
"""Findings of many nodes by cause: what only follows from another finding stands below it.

A difference from the other nodes follows from a finding of the same device, or of the same id, on that node: a port
that is down differs in state and rate. A path of another type follows from a device that is missing or at fault there.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railgauge.topo.findings.cards.gpus import DRIVER_MISMATCH, GPU_LOST
from railgauge.topo.findings.cards.rdma import NIC_LOST
from railgauge.topo.findings.cluster.comparison import PRESENCE
from railgauge.topo.findings.cluster.folding import Folded, of_nodes
from railgauge.topo.findings.cluster.words import PATH_TYPE
from railgauge.topo.findings.devices import named_devices
from railgauge.topo.findings.finding import Finding, Level, may_hide
from railgauge.topo.findings.node.consequences import FOLLOWS_FROM, is_cause
from railgauge.topo.values.number import natural

LOUD = (Level.FAIL, Level.WARN, Level.INFO)
BAD = (Level.FAIL, Level.WARN)
DRIVER_FACTS = ("CUDA", "open kernel modules")
"""Facts of a host that come with its driver."""
LOST = {"GPU": GPU_LOST.id, "NIC": NIC_LOST.id}
"""By the name of a missing device: the finding of its node that says so."""


@dataclass(frozen=True, slots=True)
class ClusterCause:
    """A finding with its nodes, and what follows from it there."""

    found: Folded
    consequences: tuple[Folded, ...] = ()


def by_cause(found: Sequence[Folded]) -> list[ClusterCause]:
    """The findings from INFO on, in their order; those that follow from others stand with their cause."""
    loud = [one for one in found if one.finding.level in LOUD]
    below: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    left: dict[int, list[str]] = {place: list(one.names) for place, one in enumerate(loud)}
    for place, one in enumerate(loud):
        for name in one.names:
            cause = _cause(one.finding, place, name, loud)
            if cause is not None:
                below[cause][place].append(name)
                left[place].remove(name)
    return [
        ClusterCause(
            of_nodes(one.finding, left[place]) if one.names else one,
            tuple(of_nodes(loud[at].finding, names) for at, names in below[place].items()),
        )
        for place, one in enumerate(loud)
        if left[place] or not one.names
    ]


def worst_of(causes: Iterable[ClusterCause]) -> dict[str, list[Finding]]:
    """The findings of WARN and FAIL of each node that has any, causes alone, the worst first."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for cause in causes:
        if cause.found.finding.level in BAD:
            for name in cause.found.concerned:
                found[name].append(cause.found.finding)
    return {name: sorted(found[name], key=lambda one: BAD.index(one.level)) for name in sorted(found, key=natural)}


def devices(finding: Finding) -> frozenset[str]:
    """The devices that a finding is about; a difference names its device in its words, too."""
    text = f"{finding.subject} {finding.message}" if _is_difference(finding) else finding.subject
    return named_devices(text)


def _cause(one: Finding, place: int, name: str, loud: Sequence[Folded]) -> int | None:
    """The place of the finding that another one on the same node follows from in the end; None if it stands for itself.

    No two follow from each other: only path types follow from differences, and the rules of a node name causes alone.
    """
    if not _is_difference(one) and FOLLOWS_FROM not in one.evidence:
        return None
    others = [(at, other.finding) for at, other in enumerate(loud) if at != place and name in other.names]
    found = next((at for at, other in others if may_hide(other, one) and _follows(one, other)), None)
    if found is None:
        return None
    further = _cause(loud[found].finding, found, name, loud)
    return found if further is None else further


def _follows(one: Finding, other: Finding) -> bool:
    if not _is_difference(one):
        return is_cause(other, one)
    if one.evidence.get("what") == PATH_TYPE:
        return other.level in BAD and other.evidence.get("what") != PATH_TYPE and _breaks_path(one, other)
    if one.evidence.get("what") in DRIVER_FACTS:
        return other.id == DRIVER_MISMATCH.id
    if _is_difference(other):
        return False
    is_lost = one.evidence.get("what") == PRESENCE and LOST.get(one.message[:3]) == other.id
    return is_lost or one.id == other.id or bool(devices(one) & devices(other))


def _breaks_path(path: Finding, other: Finding) -> bool:
    """Whether a device of the path is at fault, or one is missing: the numbers of those behind it have moved then."""
    return other.evidence.get("what") == PRESENCE or bool(devices(path) & devices(other))


def _is_difference(one: Finding) -> bool:
    """Whether it comes from the comparison of nodes (findings.py)."""
    return "votes" in one.evidence
