# SPDX-License-Identifier: Apache-2.0
"""The limit of open files is low: connections of the bootstrap and of sockets count as open files."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.process import UNLIMITED
from railgauge.topo.findings.cards.process import NOFILE_LOW
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

TOO_FEW = 512  # a PyTorch process has a few hundred open before NCCL starts
USUAL = 1024  # what login shells get
ENOUGH = 4096  # of the hard limit, to which NCCL may raise


def _check(machine: Machine) -> Iterator[Finding]:
    process = machine.sources.process
    if process.open_files is None:
        yield RULE.unknown(machine.host, "the limit (RLIMIT_NOFILE) was not captured")
        return
    soft, hard = process.open_files
    if soft == UNLIMITED or soft > USUAL:
        return
    limited = hard != UNLIMITED and hard < ENOUGH
    yield RULE.finding(
        Level.FAIL if soft < TOO_FEW and limited else Level.WARN if soft < TOO_FEW or limited else Level.INFO,
        machine.host,
        f"this process may open {soft} files"
        + (f", at most {hard}" if limited else ", and can raise the limit itself")
        + ": large jobs may run out",
        soft=soft,
        hard=None if hard == UNLIMITED else hard,
    )


RULE = Rule(card=NOFILE_LOW, check=_check)
