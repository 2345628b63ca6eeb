# SPDX-License-Identifier: Apache-2.0
"""A file that is inconsistent in a way that no other rule reports: it gives no model of the machine."""

from collections.abc import Iterator

from railgauge.topo.errors import InputError
from railgauge.topo.findings.cards.topology_file import TOPO_FILE_FAULTY
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.system import build_system


def _check(file: Machine) -> Iterator[Finding]:
    if not file.topology.cpus:
        yield _finding(file, Level.WARN, "holds no <cpu>", "NCCL detects everything as without a file", None)
    try:
        build_system(file.topology)
    except InputError as error:
        where = f"{error.path}:{error.line}: "
        yield _finding(file, Level.FAIL, str(error).removeprefix(where), "the file cannot be used", error.line)


def _finding(file: Machine, level: Level, message: str, effect: str, line: int | None) -> Finding:
    return RULE.finding(level, file.topology.path or "", message, effect=effect, line=line)


RULE = TopologyFileRule(card=TOPO_FILE_FAULTY, check=_check)
