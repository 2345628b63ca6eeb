# SPDX-License-Identifier: Apache-2.0
"""The cause of a failed connection: the rule, and the words."""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.topo.findings.cluster.reach import ClusterReach, FailedConnection, Hint, Stage, Way
from railgauge.topo.findings.node import mtu_mismatch, ports_blocked, rail_unreachable, rp_filter_strict
from railgauge.topo.findings.node.rule import Rule

Tries = Mapping[tuple[str, str, Way], FailedConnection]
AT_ONCE_S = 2.0
"""A firewall rejects at once; an unused address is reported by the kernel, here or on a router, after 3 s."""


@dataclass(frozen=True, slots=True)
class ClusterFault:
    """A rule and its words, without the nodes."""

    rule: Rule
    words: str


def fault(failure: FailedConnection, tries: Tries, reach: ClusterReach) -> ClusterFault:
    """The cause of a failure, given the other failures: a missing return route looks like a firewall."""
    if failure.hint is Hint.STRANGER:
        who = f"{failure.answered_by} answers" if failure.answered_by else "another program answers"
        return ClusterFault(rail_unreachable.RULE, f"{who} at the address")
    if failure.stage is Stage.DATA:
        words = "short messages arrive, 64 KiB do not: large packets are lost (MTU?)"
        return ClusterFault(mtu_mismatch.RULE, words)
    if failure.stage is Stage.GREETING:
        return ClusterFault(ports_blocked.RULE, f"it connects, but no data arrives ({_said(failure)})")
    if failure.hint is Hint.NO_ROUTE:
        return ClusterFault(rail_unreachable.RULE, f"{failure.source} has no route to it ({_said(failure)})")
    if failure.hint is Hint.NO_NEIGHBOUR or (failure.errno == errno.EHOSTUNREACH and failure.seconds > AT_ONCE_S):
        strict = reach.nodes[failure.target][failure.way[1]].strict
        also = ", or its strict reverse-path filter drops the requests" if strict else ""
        return ClusterFault(rail_unreachable.RULE, f"no host has the address ({_said(failure)}){also}")
    if failure.errno == errno.ENETUNREACH:
        return ClusterFault(rail_unreachable.RULE, f"a router on the path has no route ({_said(failure)})")
    if failure.errno != errno.ETIMEDOUT:
        return ClusterFault(ports_blocked.RULE, f"it is rejected, as by a firewall ({_said(failure)})")
    back = tries.get((failure.target, failure.source, (failure.way[1], failure.way[0])))
    if back and back.hint in (Hint.NO_ROUTE, Hint.NO_NEIGHBOUR):
        return fault(back, tries, reach)
    for name, place in ((failure.target, failure.way[1]), (failure.source, failure.way[0])):
        if reach.filtered.get(name) and reach.nodes[name][place].strict:
            return ClusterFault(
                rp_filter_strict.RULE, f"the reverse-path filter of {name} drops packets ({_said(failure)})"
            )
    return ClusterFault(ports_blocked.RULE, f"no answer, as behind a firewall that drops packets ({_said(failure)})")


def _said(failure: FailedConnection) -> str:
    """The error as in NCCL's log: "113 No route to host"."""
    return f"{failure.errno} {os.strerror(failure.errno)}"
