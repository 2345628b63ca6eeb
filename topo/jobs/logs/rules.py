# SPDX-License-Identifier: Apache-2.0
"""Findings of logs alone: what no look at a machine shows."""

from collections.abc import Callable
from functools import partial

from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.logs.log import Log
from railgauge.topo.jobs.logs.verdict import verdict


def _of(name: str, log: Log) -> list[Finding]:
    return [finding for finding in verdict(log).findings if finding.id == name]


def _check(name: str) -> Callable[[Log], list[Finding]]:
    return partial(_of, name)


RULES: tuple[FileRule[Log], ...] = (
    FileRule(
        id="peer-lost",
        title="A connection was closed because another rank ended first",
        levels=(Level.FAIL,),
        remedy="find the rank whose log ends first; its last lines, dmesg (out of memory, Xid), the scheduler say why",
        check=_check("peer-lost"),
    ),
    FileRule(
        id="collective-timeout",
        title="PyTorch's watchdog gave up on a collective that did not end",
        levels=(Level.FAIL,),
        remedy="find the rank that did not take part: railgauge log hang on the flight recorders and logs of all ranks",
        check=_check("collective-timeout"),
    ),
    FileRule(
        id="collective-mismatch",
        title="Ranks of a communicator have launched different numbers of collectives, says ncclras",
        levels=(Level.FAIL,),
        remedy="look where the program of the odd ranks calls a collective that the others do not, or waits before one",
        check=_check("collective-mismatch"),
    ),
    FileRule(
        id="run-slower",
        title="One table of nccl-tests in a log is at less than half of another",
        levels=(Level.WARN,),
        remedy="compare their machines with railgauge topo diff; a VM without topology shows as vm-flat-topology",
        check=_check("run-slower"),
    ),
    FileRule(
        id="ras-port-taken",
        title="Another job of the node listens on RAS's port (28028) already: harmless",
        levels=(Level.INFO,),
        remedy="NCCL_RAS_ADDR=localhost:OTHER_PORT where ncclras is wanted for this job",
        check=_check("ras-port-taken"),
    ),
    FileRule(
        id="other-warning",
        title="A WARN of NCCL that railgauge does not know",
        levels=(Level.WARN,),
        remedy="search NCCL's issues for its words; what came before it in the same rank's log may say more",
        check=_check("other-warning"),
    ),
)
