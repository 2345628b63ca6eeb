# SPDX-License-Identifier: Apache-2.0
"""A GPU with fewer NVLinks than its siblings have or NVML lists."""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.findings.cards.nvlink import NVLINK_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.effect import effect_of
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.findings.topology_file import nvlink_missing
from railgauge.topo.link_state import Excuse, NvlinkState
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph import bandwidth
from railgauge.topo.nccl.graph.link_facts import nvlink_states
from railgauge.topo.values.pci_class import NVSWITCH
from railgauge.topo.xml.tree import ElementBuilder, thaw

MOST_PREDICTED = 1  # a prediction searches channels twice


def _check(machine: Machine) -> Iterator[Finding]:
    states = nvlink_states(machine.topology, machine.facts).values()
    found = [state for state in states if state.reason and (state.is_fault or state.excuse is Excuse.ALIKE)]
    for number, state in enumerate(found):
        finding = _one_sided(state) if state.peer else nvlink_missing.as_finding(RULE, state)
        if state.excuse:
            why = f", as on all {len(found)} GPUs: by design, or an NVSwitch is down"
            finding = replace(finding, level=Level.INFO, message=finding.message + why)
        elif number < MOST_PREDICTED and not state.peer:
            finding = replace(finding, effect=_effect(machine, state) or finding.effect)
        yield finding
    if silent := missing(Need.NVML, machine):
        yield RULE.unknown(machine.host, silent)


def _one_sided(state: NvlinkState) -> Finding:
    """A GPU with fewer links to another than that one has back."""
    gpu, peer = state.gpu, state.peer or state.gpu
    speeds = [number * bandwidth.nvlink(end.sm) for number, end in ((state.full, peer), (state.count, gpu))]
    return RULE.finding(
        Level.WARN,
        gpu.bus_id,
        f"{peer.bus_id} has {state.full} NVLinks to {gpu.bus_id}, which has {state.count} back",
        effect=f"{speeds[0]:g} GB/s in one direction, {speeds[1]:g} GB/s in the other",
        ends=[peer.bus_id, gpu.bus_id],
        there=state.full,
        back=state.count,
    )


def _effect(machine: Machine, state: NvlinkState) -> str:
    """The predicted effect of the missing links; "" if it is unknown which ones are missing."""
    subject, missing_links = state.gpu.bus_id, state.full - state.count
    gpu = next((gpu for gpu in machine.system.gpus if gpu.bus_id == subject), None)
    root = thaw(machine.topology.root)
    bundle = next((link for link in root.walk() if link.name == "nvlink" and _card(link) == subject), None)
    if gpu is None or bundle is None or not (bundle.get("tclass") or "").startswith(NVSWITCH):
        return ""
    bundle.put("count", str(bundle.integer("count", None) + missing_links))
    whole = replace(machine, topology=replace(machine.topology, root=root.freeze()))
    return effect_of(whole, sets=[f"GPU{gpu.dev}.nvlinks={state.count}"])


def _card(link: ElementBuilder) -> str | None:
    """The bus id of the GPU that a <nvlink> belongs to."""
    return next((above.get("busid") for above in link.above() if above.name == "pci"), None)


RULE = Rule(card=NVLINK_MISSING, needs=(), concerns=has_gpus, check=_check)
