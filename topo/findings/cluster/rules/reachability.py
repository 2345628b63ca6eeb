# SPDX-License-Identifier: Apache-2.0
"""Findings of the connection tests between nodes: blocked connections, who is at fault, and what was not tried."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

from railgauge.topo.findings.cluster.endpoints import BOOTSTRAP, SOCKET
from railgauge.topo.findings.cluster.fault import ClusterFault, fault
from railgauge.topo.findings.cluster.planned import Planned
from railgauge.topo.findings.cluster.reach import ClusterReach, FailedConnection, Pair, Rail
from railgauge.topo.findings.cluster.suspects import Suspect, SuspectPart, suspects
from railgauge.topo.findings.file_rule import guarded
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node import mtu_mismatch, ports_blocked, rail_unreachable, rp_filter_strict
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.values.node_names import folded
from railgauge.topo.values.number import natural

TRIED = (rail_unreachable.RULE, ports_blocked.RULE, mtu_mismatch.RULE, rp_filter_strict.RULE)
"""The ids that connection tests report."""
FILTERS = (ports_blocked.RULE.id, rp_filter_strict.RULE.id)
"""RDMA bypasses the kernel and so its filters."""
Case = tuple[FailedConnection, ClusterFault]


@dataclass(frozen=True)
class Reached:
    """The findings; sound: nodes that were tested in full and that no finding names."""

    findings: tuple[Finding, ...] = ()
    sound: frozenset[str] = frozenset()

    def settles(self, finding: Finding, name: str) -> bool:
        """Whether the connection tests supersede a finding about a node: they show no firewall, or it does not PASS."""
        is_guess = finding.id == ports_blocked.RULE.id and finding.level is not Level.WARN
        return (is_guess and name in self.sound) or (finding.level is Level.PASS and (finding.id, name) in self._faulty)

    @cached_property
    def _faulty(self) -> frozenset[tuple[str, str]]:
        found = [one for one in self.findings if one.level not in (Level.PASS, Level.UNKNOWN)]
        return frozenset((one.id, name) for one in found for name in one.evidence["nodes"])


def judge(reach: ClusterReach, plan: Planned) -> Reached:
    """A finding for each node, pair of nodes or whole rail that is at fault; PASS for sound nodes; UNKNOWN."""
    closed = guarded(rail_unreachable.RULE.id, "", lambda: _closed(reach, plan))
    if any(one.error for one in closed):
        return Reached(tuple(closed))
    sound = _sound(reach, {name for one in closed for name in one.evidence["nodes"]})
    return Reached((*closed, *_passed(reach, sound), *_unknown(reach)), frozenset(sound))


def not_tried(names: Sequence[str], asked: Container[str]) -> Reached:
    """Captures alone do not show this: UNKNOWN for several nodes, once, or for each of the rules that are `asked` for
    where the first is not.
    """
    message = (
        "captures do not show whether the nodes reach each other: test with railgauge cluster check -w NODES, "
        "where the nodes have railgauge"
    )
    rules = [rule for rule in TRIED if rule.id in asked]
    if rail_unreachable.RULE in rules:
        rules = [rail_unreachable.RULE]
    return Reached(tuple(_about(rule.unknown("", message), names) for rule in rules) if len(names) > 1 else ())


def _closed(reach: ClusterReach, plan: Planned) -> Iterator[Finding]:
    tries = {(one.source, one.target, one.way): one for one in reach.failures}
    cases: dict[tuple[str, Rail], dict[Pair, Case]] = defaultdict(dict)
    for one in reach.failures:
        case = fault(one, tries, reach)
        cases[case.rule.id, reach.rail(one)][one.source, one.target] = one, case
    for (_, rail), found in cases.items():
        for suspect in suspects(found.keys(), reach.rows[rail].pairs):
            yield _finding(reach, plan, rail, suspect, [found[pair] for pair in sorted(suspect.failed)])


def _finding(reach: ClusterReach, plan: Planned, rail: Rail, suspect: Suspect, found: Sequence[Case]) -> Finding:
    rule = found[0][1].rule
    words = [text for text, _ in Counter(case.words for _, case in found).most_common()]
    failure = next(one for one, case in found if case.words == words[0])
    more = f"; {words[1]}" if len(words) == 2 else f"; and {len(words) - 1} more reasons" if words[1:] else ""
    subject, what = _named(suspect, reach.rows[rail].over)
    here, there = reach.nodes[failure.source][failure.way[0]], reach.nodes[failure.target][failure.way[1]]
    finding = rule.finding(
        _level(rule, rail),
        subject,
        f"{what}: {words[0]}{more}",
        effect=_effect(rule, rail, plan),
        rail=list(rail),
        pairs=[list(pair) for pair in sorted(suspect.failed)],
        tried=suspect.of,
        stage=str(failure.stage),
        errno=failure.errno,
        seconds=failure.seconds,
        source=f"{failure.source} {here.interface} {here.address}",
        target=f"{failure.target} {there.interface} {there.address} port {failure.port}",
    )
    return _about(finding, suspect.nodes or tuple(sorted(reach.rows[rail].nodes, key=natural)))


def _named(suspect: Suspect, over: str) -> tuple[str, str]:
    """The subject of a finding, and what fails."""
    failed, of = len(suspect.failed), suspect.of
    node = suspect.nodes[0] if suspect.nodes else ""
    if suspect.part is SuspectPart.ALL:
        return over, f"no node reaches another over {over}"
    if suspect.part is SuspectPart.INTO:
        return f"{node} over {over}", f"{failed} of {of} nodes do not reach {node} over {over}"
    if suspect.part is SuspectPart.OUT_OF:
        return f"{node} over {over}", f"{node} does not reach {failed} of {of} nodes over {over}"
    if suspect.part is SuspectPart.BOTH:
        return f"{node} over {over}", f"{failed} of {of} connections from and to {node} over {over} fail"
    source, target = next(iter(suspect.failed)) if failed == 1 else suspect.nodes
    pair = f"{source} {'->' if failed == 1 else '<->'} {target} over {over}"
    return pair, f"{pair} fails"


def _level(rule: Rule, rail: Rail) -> Level:
    """Socket interfaces must be open. For a RoCE port's interface TCP is only an indication."""
    if any(use.startswith(SOCKET) for use in rail):
        return Level.FAIL
    return Level.INFO if rule.id in FILTERS else Level.WARN


def _effect(rule: Rule, rail: Rail, plan: Planned) -> str:
    if BOOTSTRAP in rail:
        return (
            "NCCL's bootstrap uses this connection: ranks on these nodes cannot connect, and the job fails or "
            "hangs at start"
        )
    if rule.id in FILTERS and not any(use.startswith(SOCKET) for use in rail):
        return "none on RDMA, which bypasses the kernel's filters; sockets on this interface are blocked"
    if not plan.channels:
        return "channels over this connection cannot be set up: NCCL fails or hangs at start"
    if count := plan.rails.get(rail, 0):
        return f"{count} of {plan.channels} planned channels use this connection: NCCL fails or hangs when connecting"
    return f"none of the {plan.channels} planned channels uses this connection"


def _sound(reach: ClusterReach, faulty: Set[str]) -> tuple[str, ...]:
    out = faulty | {name for pair in reach.untried for name in pair} | {name for name, _ in reach.deaf}
    there = set().union(*(row.nodes for row in reach.rows.values()))
    return tuple(name for name in reach.nodes if name in there - out)


def _passed(reach: ClusterReach, sound: Sequence[str]) -> Iterator[Finding]:
    over = ", ".join(row.over for row in reach.rows.values())
    message = f"connections to and from the other nodes without findings carry data over {over}"
    for rule in (rail_unreachable.RULE, ports_blocked.RULE) if sound else ():
        yield _about(rule.finding(Level.PASS, "", message), sound)


def _unknown(reach: ClusterReach) -> Iterator[Finding]:
    """What was not tried, and why."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for name, why in reach.silent.items():
        reasons[f"did not complete the connection tests: {why}"].append(name)
    for (name, place), why in reach.deaf.items():
        reasons[f"cannot listen on {reach.nodes[name][place].interface}: {why}"].append(name)
    for name, count in Counter(source for source, _ in reach.untried).items():
        reasons[f"no time to try {count} of {len(reach.nodes) - 1} nodes: give a longer --timeout"].append(name)
    if not reach.rows and not reasons:
        reasons["no two nodes have interfaces that NCCL would connect: nothing to test"].extend(reach.nodes)
    for reason, names in reasons.items():
        yield _about(rail_unreachable.RULE.unknown("", reason), names)


def _about(finding: Finding, names: Sequence[str]) -> Finding:
    return replace(finding, host=folded(names), evidence={**finding.evidence, "nodes": list(names)})
