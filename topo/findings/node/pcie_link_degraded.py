# SPDX-License-Identifier: Apache-2.0
"""A PCIe link that is narrower or slower than its ends, its siblings or its ports allow."""

from collections.abc import Iterable, Iterator, Sequence

from railgauge.topo.findings.cards.pcie import PCIE_LINK_DEGRADED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.effect import effect_of
from railgauge.topo.findings.node.peers import has_gpus, nics
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.findings.topology_file import pcie_link_degraded
from railgauge.topo.link_state import Excuse, PciState, Rate, Reason, Verdict, first_of_each_card
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.link_facts import pci_states

NODES = 2  # a NIC counts only with another node
MOST_PREDICTED = 2  # each prediction searches channels twice


def _check(machine: Machine) -> Iterator[Finding]:
    states = _states(machine)
    predicted = 0
    for state in states:
        if state.reason is Reason.ENDS_LANES:
            predicted += 1
            yield _narrow(machine, state, predict=predicted <= MOST_PREDICTED)
        elif state.reason is Reason.ENDS_SPEED:
            predicted += state.is_fault
            yield _slow(machine, state, predict=state.is_fault and predicted <= MOST_PREDICTED)
        elif state.is_fault and state.reason is not Reason.BOGUS:
            yield pcie_link_degraded.below_peers(RULE, state)
    if machine.facts is None and not any(state.is_fault and state.reason is not Reason.BOGUS for state in states):
        sound = not any(state.reason for state in states)
        rest = "; no link in the file is narrower or slower than expected" if sound else ""
        yield RULE.unknown(machine.host, f"current link width unknown (topology file only){rest}")
    unlike = [state for state in states if state.verdict is Verdict.UNKNOWN and state.reason is Reason.TWINS]
    yield from (_unlike(state, unlike) for state in unlike)
    if silent := _silent(states):
        message = f"{_named(silent)}: link width not exposed (VM?); check on the host"
        yield RULE.unknown(silent[0], message, devices=silent)


def _unlike(state: PciState, unlike: Iterable[PciState]) -> Finding:
    """The message names all equal ones: text shows the same reason once."""
    link, best = state.link.can.text, state.full.text
    alike = [one.link.bus_id for one in unlike if (one.link.model, one.link.can) == (state.link.model, state.link.can)]
    message = f"{_named(alike)}: link is {link}, another device of the model has {best}: by design?"
    return RULE.unknown(state.link.bus_id, message, link=link, best=best)


def _named(bus_ids: Sequence[str]) -> str:
    return f"{bus_ids[0]} and {len(bus_ids) - 1} others" if len(bus_ids) > 1 else bus_ids[0]


def _states(machine: Machine) -> list[PciState]:
    return first_of_each_card(pci_states(machine.topology, machine.facts))


def _silent(states: Iterable[PciState]) -> list[str]:
    """The devices whose current link is not in sysfs; a virtual function has no link of its own."""
    links = [state.link for state in states if state.verdict is Verdict.UNKNOWN and not state.reason]
    return [link.bus_id for link in links if link.now is not None and not link.virtual]


def _narrow(machine: Machine, state: PciState, *, predict: bool) -> Finding:
    bus_id, now, full = state.link.bus_id, (state.link.now or Rate()).lanes, state.full.lanes
    design = {
        Excuse.ALONE: "; it is the only device of its kind here",
        Excuse.ALIKE: f", as do all {state.among} of its kind",
    }
    why = design[state.excuse] if state.excuse else ""
    effect = effect_of(machine, sets=[f"{bus_id}.width={now}"], nodes=NODES) if predict else ""
    return RULE.finding(
        Level.INFO if state.excuse else Level.WARN,
        bus_id,
        f"{bus_id} runs with {now} lanes; both ends of its link support {full}{why}",
        effect=effect or f"{now} of {full} lanes",
        current=f"x{now}",
        max=f"x{full}",
        source=f"/sys/bus/pci/devices/{bus_id}/current_link_width",
    )


def _slow(machine: Machine, state: PciState, *, predict: bool) -> Finding:
    bus_id, now, full = state.link.bus_id, (state.link.now or Rate()).gt_per_s, state.full.gt_per_s
    why = ": idle, or a bad link" if state.excuse else f", and {state.many} of {state.among} of its kind run faster"
    return RULE.finding(
        Level.INFO if state.excuse else Level.WARN,
        bus_id,
        f"{bus_id} runs at {now:g} GT/s; both ends of its link support {full:g}{why}",
        effect=effect_of(machine, sets=[f"{bus_id}.speed={now:.1f} GT/s"], nodes=NODES) if predict else "",
        current_gt_per_s=now,
        max_gt_per_s=full,
        source=f"/sys/bus/pci/devices/{bus_id}/current_link_speed",
    )


RULE = Rule(
    card=PCIE_LINK_DEGRADED,
    needs=(Need.PCI,),
    concerns=lambda machine: (
        has_gpus(machine) or bool(nics(machine)) or any(state.is_fault for state in _states(machine))
    ),
    check=_check,
)
