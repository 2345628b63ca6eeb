# SPDX-License-Identifier: Apache-2.0
"""Findings of many nodes folded: one for all nodes with the same words, whose `host` names them all."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from railgauge.topo.findings.cards.comparison import NODES_DIFFER
from railgauge.topo.findings.cluster.across import across
from railgauge.topo.findings.cluster.examination import Examined
from railgauge.topo.findings.cluster.findings import findings as differing
from railgauge.topo.findings.cluster.report import Report
from railgauge.topo.findings.cluster.rules.reachability import Reached
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rules import SHOWN
from railgauge.topo.values.node_names import folded
from railgauge.topo.values.number import natural

NOTHING_TRIED = Reached()
Told = tuple[Finding, list[str]]
"""A finding, and its nodes."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A finding, and the nodes that have it, whose names folded are its host; () for one about no particular node."""

    finding: Finding
    names: tuple[str, ...]

    @property
    def nodes(self) -> int:
        """How many nodes have it."""
        return len(self.names)

    @property
    def concerned(self) -> tuple[str, ...]:
        """These nodes; for a fact without a majority all that have one of its values."""
        values = self.finding.evidence.get("values", {})
        return self.names or tuple(name for names in values.values() for name in names)


def of_nodes(finding: Finding, names: Iterable[str]) -> Folded:
    """A finding that these nodes have; one about a node itself is about all of them."""
    names = sorted(set(names), key=natural)
    return Folded(of_node(finding, folded(names)), tuple(names))


def of_node(finding: Finding, host: str) -> Finding:
    """The finding as one of another host; what is about the host itself has it as its subject too."""
    is_about_host = bool(host) and finding.subject == finding.host
    return replace(finding, host=host, subject=host if is_about_host else finding.subject)


def folded_findings(nodes: Sequence[Examined], report: Report, reached: Reached = NOTHING_TRIED) -> tuple[Folded, ...]:
    """All of them, the worst first, of equal level those of most nodes; with the results of connection tests."""
    same: dict[tuple[object, ...], tuple[Finding, list[str]]] = {}
    for finding, of in (*_of_nodes(nodes), *((one, [one.host] if one.host else []) for one in differing(report))):
        key: tuple[object, ...] = (finding.id, finding.level, finding.subject, finding.message, finding.effect)
        names = [name for name in of if not reached.settles(finding, name)]
        if finding.id == NODES_DIFFER.id and finding.subject == finding.host:
            key = (finding.id, finding.level, finding.message)
        if names or not of:
            same.setdefault(key, (finding, []))[1].extend(names)
    of_several = (*across(nodes), *reached.findings)
    told = [*same.values(), *((one, list(one.evidence.get("nodes", ()))) for one in of_several)]
    found = [of_nodes(one, names) for one, names in _without_false_passes(told)]
    return tuple(sorted(found, key=lambda one: (SHOWN.index(one.finding.level), -one.nodes)))


def with_others(found: Sequence[Folded], others: Iterable[Finding]) -> tuple[Folded, ...]:
    """The same with findings that are not of the nodes' captures, such as those of the fabric between them."""
    more = [Folded(one, tuple(one.evidence.get("nodes", ())) or ((one.host,) if one.host else ())) for one in others]
    return tuple(sorted((*found, *more), key=lambda one: (SHOWN.index(one.finding.level), -one.nodes)))


def _without_false_passes(told: Sequence[Told]) -> Iterator[Told]:
    """Without PASS for an id that was found on some node, or that no node could check; other nodes that could not check
    it are not among those that pass.
    """
    blind: dict[str, set[str]] = defaultdict(set)
    odd: set[str] = set()
    for finding, names in told:
        if finding.level is Level.UNKNOWN and names:
            blind[finding.id].update(names)
        elif finding.level is not Level.PASS:
            odd.add(finding.id)
    for finding, names in told:
        if finding.level is not Level.PASS:
            yield finding, names
        elif finding.id not in odd and (passed := [name for name in names if name not in blind[finding.id]]):
            evidence = {**finding.evidence, "nodes": passed} if "nodes" in finding.evidence else finding.evidence
            yield replace(finding, evidence=evidence), passed


def _of_nodes(nodes: Iterable[Examined]) -> Iterator[Told]:
    """The rules' findings on each, equal nodes merged."""
    alike: dict[str, tuple[tuple[Finding, ...], list[str]]] = {}
    for node in nodes:
        alike.setdefault(node.fingerprint, (node.shared, []))[1].append(node.name)
    for findings, names in alike.values():
        yield from ((one, names) for one in findings)
    for node in nodes:
        yield from ((one, [node.name]) for one in node.own)
