# SPDX-License-Identifier: Apache-2.0
"""A GPU with fewer NVLinks than most GPUs of its kind on the same host, or, on its machine, than NVML lists.

With an NVSwitch all GPUs have the same number. Directly connected GPUs in a part of a machine may differ, so there
the usual number is that of three quarters of at least three GPUs.
"""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.findings.cards.nvlink import NVLINK_MISSING
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.nvlinks import gpus
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.link_state.nvlink import NvlinkState
from railgauge.topo.link_state.verdict import Reason
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.nccl.graph.link_facts import nvlink_states

DOWN_TO = "down_to"
"""In the evidence: how many links are down to each device, by its bus id, where the other ends are known."""


def _check(file: Machine) -> Iterator[Finding]:
    placed = gpus(file)
    few = [state for state in nvlink_states(file.topology).values() if state.reason is Reason.SIBLINGS]
    yield from (as_finding(RULE, state, placed[state.gpu.key].line) for state in few)
    told = {state.gpu.key[1] for state in few}
    there = nvlink_states(file.beside.topology, file.facts) if file.beside and file.facts else {}
    down = {state.gpu.key[1]: state for state in there.values() if state.is_fault and not state.peer}
    for (_, number), gpu in placed.items():
        if number in down and number not in told:
            yield as_finding(RULE, down[number], gpu.line, where=" on the machine")


def as_finding(rule: FileRule[Any], state: NvlinkState, line: int | None = None, *, where: str = "") -> Finding:
    """A finding about a GPU with fewer NVLinks than its siblings have or NVML lists."""
    (wires, each), listed = (
        bandwidth.link_of_gpu(state.gpu.sm, state.gpu.gfx),
        state.reason is Reason.LISTED or bool(where),
    )
    if listed:
        message = f"{state.count} of {state.full} {wires} are up{where}"
        effect = f"{state.full * each:g} -> {state.count * each:g} GB/s for this GPU"
    else:
        message = f"{state.count} {wires}; others of this kind have {state.full}"
        effect = f"{(state.full - state.count) * each:g} GB/s less than its siblings"
    evidence: dict[str, Any] = {"count": state.count, "listed" if listed else "usual": state.full}
    if state.gpu.nvml and state.gpu.nvml.cut_to:
        evidence[DOWN_TO] = dict(state.gpu.nvml.cut_to)
    level = Level.WARN if state.count else Level.FAIL
    return rule.finding(level, state.gpu.bus_id, message, effect=effect, line=line, **evidence)


RULE = TopologyFileRule(card=NVLINK_MISSING, check=_check)
