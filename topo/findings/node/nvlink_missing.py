# SPDX-License-Identifier: Apache-2.0
"""A GPU with fewer NVLinks than its siblings have or NVML lists."""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.findings.cards.nvlink import NVLINK_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.effect import Prices
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.findings.topology_file import nvlink_missing
from railgauge.topo.link_state.nvlink import NvlinkState
from railgauge.topo.link_state.verdict import Excuse
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.nccl.graph.link_facts import nvlink_states


def _check(machine: Machine) -> Iterator[Finding]:
    states = nvlink_states(machine.topology, machine.facts).values()
    found = [state for state in states if state.reason and (state.is_fault or state.excuse is Excuse.ALIKE)]
    prices = Prices(machine)
    for state in found:
        finding = _one_sided(state) if state.peer else nvlink_missing.as_finding(RULE, state)
        if state.excuse:
            why = f", as on all {len(found)} GPUs: by design, or an NVSwitch is down"
            finding = replace(finding, level=Level.INFO, message=finding.message + why)
        elif not state.peer:
            finding = prices.on(finding, nodes=1)
        yield finding
    if silent := missing(Need.NVML, machine):
        yield RULE.unknown(machine.host, silent)


def _one_sided(state: NvlinkState) -> Finding:
    """A GPU with fewer links to another than that one has back."""
    gpu, peer = state.gpu, state.peer or state.gpu
    links = [bandwidth.link_of_gpu(end.sm, end.gfx) for end in (peer, gpu)]
    speeds = [link.gb_per_s * number for link, number in zip(links, (state.full, state.count), strict=True)]
    return RULE.finding(
        Level.WARN,
        gpu.bus_id,
        f"{peer.bus_id} has {state.full} {links[1].name} to {gpu.bus_id}, which has {state.count} back",
        effect=f"{speeds[0]:g} GB/s in one direction, {speeds[1]:g} GB/s in the other",
        ends=[peer.bus_id, gpu.bus_id],
        there=state.full,
        back=state.count,
    )


def _repairs(machine: Machine) -> Iterator[Repair]:
    """The missing links: in a mesh as many as any GPU of the kind should have, where the others tell which."""
    faulty = [one for one in nvlink_states(machine.topology, machine.facts).values() if one.is_fault and not one.peer]
    for state in faulty:
        full = max(one.full for one in faulty if one.gpu.sm == state.gpu.sm)
        yield Repair(subject=state.gpu.bus_id, sets=(f"{state.gpu.bus_id}.nvlinks={full}",))


RULE = Rule(card=NVLINK_MISSING, needs=(Need.NVLINKS,), concerns=has_gpus, check=_check, repairs=_repairs)
