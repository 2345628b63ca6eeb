# SPDX-License-Identifier: Apache-2.0
"""A PCIe link that is narrower or slower than its ends, its siblings or its ports allow."""

from collections.abc import Iterable, Iterator, Sequence

from railgauge.topo.compare.what_if import MAX
from railgauge.topo.findings.cards.pcie import PCIE_LINK_DEGRADED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.effect import Prices
from railgauge.topo.findings.node.peers import has_gpus, nics
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.findings.topology_file import pcie_link_degraded
from railgauge.topo.link_state.pcie import PciState, Rate, first_of_each_card
from railgauge.topo.link_state.verdict import Excuse, Reason, Verdict
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.link_facts import pci_states

RUNNING = pcie_link_degraded.RUNNING


def _check(machine: Machine) -> Iterator[Finding]:
    states = _states(machine)
    prices = Prices(machine)
    for state in states:
        if found := _found(state):
            yield prices.on(found) if state.is_fault else found
    if machine.facts is None and not any(state.is_fault and state.reason is not Reason.BOGUS for state in states):
        sound = not any(state.reason or (state.link.is_card and not state.link.can.gbit_per_s) for state in states)
        rest = "; no link in the file is narrower or slower than expected" if sound else ""
        yield RULE.unknown(machine.host, f"current link width unknown (topology file only){rest}")
    unlike = [state for state in states if state.verdict is Verdict.UNKNOWN and state.reason is Reason.TWINS]
    yield from (_unlike(state, unlike) for state in unlike)
    if silent := _silent(states):
        message = f"{_named(silent)}: link width not exposed (VM?); check on the host"
        yield RULE.unknown(silent[0], message, devices=silent)


def _found(state: PciState) -> Finding | None:
    if state.reason is Reason.ENDS_LANES:
        return _narrow(state)
    if state.reason is Reason.ENDS_SPEED:
        return _slow(state)
    return pcie_link_degraded.below_peers(RULE, state) if state.is_fault and state.reason is not Reason.BOGUS else None


def _unlike(state: PciState, unlike: Iterable[PciState]) -> Finding:
    """The message names all equal ones: text shows the same reason once."""
    link, best = state.link.can.text, state.full.text
    alike = [one.link.bus_id for one in unlike if (one.link.model, one.link.can) == (state.link.model, state.link.can)]
    message = f"{_named(alike)}: link is {link}, another device of the model has {best}: by design?"
    return RULE.unknown(state.link.bus_id, message, link=link, best=best)


def _named(bus_ids: Sequence[str]) -> str:
    more = len(bus_ids) - 1
    return f"{bus_ids[0]} and {more} other{'s' if more > 1 else ''}" if more else bus_ids[0]


def _states(machine: Machine) -> list[PciState]:
    return first_of_each_card(pci_states(machine.topology, machine.facts))


def _silent(states: Iterable[PciState]) -> list[str]:
    """The devices whose current link is not in sysfs; a virtual function has no link of its own."""
    links = [state.link for state in states if state.verdict is Verdict.UNKNOWN and not state.reason]
    return [link.bus_id for link in links if link.now is not None and not link.virtual]


def _narrow(state: PciState) -> Finding:
    bus_id, now, full = state.link.bus_id, (state.link.now or Rate()).lanes, state.full.lanes
    design = {
        Excuse.ALONE: "; it is the only device of its kind here",
        Excuse.ALIKE: f", as do all {state.among} of its kind",
    }
    why = design[state.excuse] if state.excuse else ""
    return RULE.finding(
        Level.INFO if state.excuse else pcie_link_degraded.severity(state),
        bus_id,
        f"{bus_id} runs with {now} lanes; both ends of its link support {full}{why}",
        effect=f"{now} of {full} lanes",
        current=f"x{now}",
        max=f"x{full}",
        source=f"/sys/bus/pci/devices/{bus_id}/current_link_width",
    )


def _slow(state: PciState) -> Finding:
    bus_id, now, full = state.link.bus_id, (state.link.now or Rate()).gt_per_s, state.full.gt_per_s
    why = ": idle, or a bad link" if state.excuse else f", and {state.many} of {state.among} of its kind run faster"
    return RULE.finding(
        Level.INFO if state.excuse else pcie_link_degraded.severity(state),
        bus_id,
        f"{bus_id} runs at {now:g} GT/s; both ends of its link support {full:g}{why}",
        current_gt_per_s=now,
        max_gt_per_s=full,
        source=f"/sys/bus/pci/devices/{bus_id}/current_link_speed",
    )


def _repairs(machine: Machine) -> Iterator[Repair]:
    """All functions of a card at what its link should run at, or should be able to do."""
    states = [state for state in pci_states(machine.topology, machine.facts) if state.is_fault]
    for first in first_of_each_card(states):
        same = [state for state in states if state.link.slot == first.link.slot]
        yield Repair(subject=first.link.bus_id, sets=tuple(edit for state in same for edit in _edits(state)))


def _edits(state: PciState) -> Iterator[str]:
    bus_id, full = state.link.bus_id, state.full
    maximum = "" if state.reason in RUNNING else MAX
    if full.lanes and (state.held.lanes or maximum):
        yield f"{bus_id}.{maximum}width={full.lanes}"
    if full.gt_per_s and (state.held.gt_per_s or maximum):
        yield f"{bus_id}.{maximum}speed={full.gt_per_s:.1f} GT/s"


RULE = Rule(
    card=PCIE_LINK_DEGRADED,
    needs=(Need.PCI,),
    concerns=lambda machine: (
        has_gpus(machine) or bool(nics(machine)) or any(state.is_fault for state in _states(machine))
    ),
    check=_check,
    repairs=_repairs,
)
