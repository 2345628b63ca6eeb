# SPDX-License-Identifier: Apache-2.0
"""What a connection that failed is a case of: which rule, and in what words."""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.topo.findings.cluster.reach import ClusterReach, FailedConnection, Hint, Stage, Way
from railgauge.topo.findings.node import mtu_mismatch, ports_blocked, rail_unreachable, rp_filter_strict
from railgauge.topo.findings.node.rule import Rule

Tries = Mapping[tuple[str, str, Way], FailedConnection]
AT_ONCE_S = 2.0
"""A firewall rejects at once; that nobody has an address the kernel, this one or a router's, says after 3 s."""


@dataclass(frozen=True, slots=True)
class ClusterFault:
    """A rule's case; the words follow the nodes that it is about."""

    rule: Rule
    words: str


def fault(failure: FailedConnection, tries: Tries, reach: ClusterReach) -> ClusterFault:
    """The case that a failure is, seen beside what else failed: a way back that is not there looks like a firewall."""
    if failure.hint is Hint.STRANGER:
        who = f"{failure.answered_by} answers" if failure.answered_by else "another program answers"
        return ClusterFault(rail_unreachable.RULE, f"{who} at the address")
    if failure.stage is Stage.DATA:
        words = "short messages arrive, and 64 KiB do not: long packets are lost on the way"
        return ClusterFault(mtu_mismatch.RULE, words)
    if failure.stage is Stage.GREETING:
        return ClusterFault(ports_blocked.RULE, f"it connects, and then nothing comes through ({_said(failure)})")
    if failure.hint is Hint.NO_ROUTE:
        return ClusterFault(rail_unreachable.RULE, f"{failure.source} has no route there ({_said(failure)})")
    if failure.hint is Hint.NO_NEIGHBOUR or (failure.errno == errno.EHOSTUNREACH and failure.seconds > AT_ONCE_S):
        strict = reach.nodes[failure.target][failure.way[1]].strict
        also = ", or its strict reverse-path filter keeps it from answering" if strict else ""
        return ClusterFault(rail_unreachable.RULE, f"nobody answers for the address ({_said(failure)}){also}")
    if failure.errno == errno.ENETUNREACH:
        return ClusterFault(rail_unreachable.RULE, f"a router on the way has no route ({_said(failure)})")
    if failure.errno != errno.ETIMEDOUT:
        return ClusterFault(ports_blocked.RULE, f"something rejects it, as firewalls do ({_said(failure)})")
    back = tries.get((failure.target, failure.source, (failure.way[1], failure.way[0])))
    if back and back.hint in (Hint.NO_ROUTE, Hint.NO_NEIGHBOUR):
        return fault(back, tries, reach)
    for name, place in ((failure.target, failure.way[1]), (failure.source, failure.way[0])):
        if reach.filtered.get(name) and reach.nodes[name][place].strict:
            return ClusterFault(
                rp_filter_strict.RULE, f"the reverse-path filter of {name} drops packets ({_said(failure)})"
            )
    return ClusterFault(ports_blocked.RULE, f"nothing answers, as behind a firewall that drops ({_said(failure)})")


def _said(failure: FailedConnection) -> str:
    """The error as NCCL's log has it: "113 No route to host"."""
    return f"{failure.errno} {os.strerror(failure.errno)}"
