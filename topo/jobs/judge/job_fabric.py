# SPDX-License-Identifier: Apache-2.0
"""The fabric that a job ran on, as a cause of what was measured: the cable that limits it, and what is wrong there."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from railgauge.topo.channels.limiting_cable import LimitingCable
from railgauge.topo.findings.cards.fabric import LEAF_OVERSUBSCRIBED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.judge.possible_causes import PossibleCause
from railgauge.topo.predict.fabric import Fabric
from railgauge.topo.predict.forecast import ForecastRow
from railgauge.topo.predict.limit import SPINES
from railgauge.topo.predict.plan import NodePlan

SURE = "railgauge fabric check, fabric load"
FOUND = (Level.FAIL, Level.WARN, Level.INFO)


@dataclass(frozen=True, kw_only=True, eq=False)
class JobFabric:
    """`over` gives the fabric of a job over some nodes in order, or for () over the first. `findings`: all on it."""

    over: Callable[[tuple[str, ...]], Fabric]
    nodes: Collection[str]
    findings: Sequence[Finding]

    def plan(self, plan: NodePlan, hosts: tuple[str, ...]) -> NodePlan:
        """A plan on this fabric; by the hosts of the job where these are its nodes. InputError: they have no path."""
        known = len(hosts) == plan.machines and all(host in self.nodes for host in hosts)
        return replace(plan, fabric=self.over(hosts if known else ()))

    def cause(self, row: ForecastRow) -> PossibleCause | None:
        """What on the fabric limits a size of a plan on it; None if something else does."""
        if row.limit.device == SPINES:
            return PossibleCause(row.limit.what, LEAF_OVERSUBSCRIBED.id, SURE, seen=True)
        cable = row.limit.cable
        if cable is None:
            return None
        found = explaining(cable, self.findings)
        return PossibleCause(f"a cable of the fabric: {cable.words}", found.id if found else "", SURE, seen=True)


def explaining(cable: LimitingCable, findings: Sequence[Finding]) -> Finding | None:
    """The finding about a cable itself, else one of its ends, else a switch at it; of several the gravest."""
    named = [(near, FOUND.index(one.level), one) for one in findings if (near := _near(cable, one)) is not None]
    return min(named, key=lambda each: each[:2])[2] if named else None


def _near(cable: LimitingCable, finding: Finding) -> int | None:
    if finding.level not in FOUND:
        return None
    ends = {cable.source, cable.target}
    names = {finding.subject, str(finding.evidence.get("port", "")), *finding.evidence.get("leaves", ())}
    if ends == set(finding.subject.split(" - ")):
        return 0
    if ends & names:
        return 1
    switches = {end.partition("[")[0] for end in ends if "[" in end}
    return 2 if switches & {name.partition("[")[0] for name in names} else None
