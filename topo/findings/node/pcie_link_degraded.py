# SPDX-License-Identifier: Apache-2.0
"""A PCIe link that is narrower or slower than its ends, its siblings or its ports allow."""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.facts.pci_class import DISPLAY
from railgauge.topo.facts.sources.pci_functions import PciFunction, best_link, degraded
from railgauge.topo.findings.cards.pcie import PCIE_LINK_DEGRADED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.effect import effect_of
from railgauge.topo.findings.node.peers import gpus, has_gpus, has_peers, nics, uplinks
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.findings.topology_file import pcie_link_degraded

NODES = 2  # a NIC counts only where there is another node
MOST_PREDICTED = 2  # each prediction searches channels twice


def _check(case: Case) -> Iterator[Finding]:
    told = set()
    for finding in _running(case):
        told.add(finding.subject)
        yield finding
    for finding in pcie_link_degraded.RULE.check(case.alone):
        if finding.subject not in told:
            message = finding.message.replace(" in the file", "")
            told.add(finding.subject)
            yield replace(finding, message=message)
    if case.inventory is None and not told:
        yield RULE.unknown(case.host, "a topology file does not tell what links run at; in it none is narrow")


def _running(case: Case) -> Iterator[Finding]:
    """What the links do at the moment; nothing is known of that where only a file speaks."""
    inventory = case.inventory
    predicted, silent = 0, []
    for function in _cards(case) if inventory else ():
        port = inventory.function(function.parent) if inventory else None
        narrow = degraded(function, port)
        if narrow is None:
            silent += [] if function.physfn else [function.bus_id]  # a virtual function has no link of its own
        elif narrow:
            predicted += 1
            yield _narrow(case, function, port, predict=predicted <= MOST_PREDICTED)
        elif slow := _slow(case, function, port, predict=predicted < MOST_PREDICTED):
            predicted += slow.level is Level.WARN
            yield slow
    if silent:
        others = f" and {len(silent) - 1} others" if len(silent) > 1 else ""
        message = f"the width of the link of {silent[0]}{others} is not told; for a guest look on its host"
        yield RULE.unknown(silent[0], message, devices=silent)


def _narrow(case: Case, function: PciFunction, port: PciFunction | None, *, predict: bool) -> Finding:
    _, full = best_link(function, port)
    lanes = function.link.lanes
    effect = effect_of(case, sets=[f"{function.bus_id}.width={lanes}"], nodes=NODES) if predict else ""
    design = _by_design(case, function)
    return RULE.finding(
        Level.INFO if design else Level.WARN,
        function.bus_id,
        f"{function.bus_id} runs with {lanes} lanes, where both ends of its link can do {full}{design}",
        effect=effect or f"{lanes} of {full} lanes",
        current=f"x{lanes}",
        max=f"x{full}",
        source=f"/sys/bus/pci/devices/{function.bus_id}/current_link_width",
    )


def _by_design(case: Case, function: PciFunction) -> str:
    """Why a narrow link is no fault: boards that share out lanes treat all alike; laptops have but one device."""
    if not has_peers(case):
        return "; it is the only device of its kind here"
    alike = _kin(case, function)
    same = {one.link.lanes for one in alike} == {function.link.lanes} and len(alike) > 1
    return f", as do all {len(alike)} of its kind" if same else ""


def _kin(case: Case, function: PciFunction) -> list[PciFunction]:
    """The cards of one model, itself among them."""
    return [one for one in _cards(case) if (one.vendor, one.device) == (function.vendor, function.device)]


def _cards(case: Case) -> list[PciFunction]:
    """GPUs, NICs and the switches above them, the first function of each: all functions of a card share its link."""
    slots: dict[str, PciFunction] = {}
    for function in (*gpus(case), *nics(case), *uplinks(case)):
        slots.setdefault(function.bus_id.rpartition(".")[0], function)
    return list(slots.values())


def _slow(case: Case, function: PciFunction, port: PciFunction | None, *, predict: bool) -> Finding | None:
    """A link of a lower generation now. That of a GPU falls when the GPU rests, that of some NICs too: what most of
    its kind run at tells a bad link from one at rest.
    """
    best, _ = best_link(function, port)
    now = function.link.gt_per_s
    if best is None or now is None or now >= best or (function.pci_class or "").startswith(DISPLAY):
        return None
    kin = _kin(case, function)
    faster = sum(1 for one in kin if (one.link.gt_per_s or 0) > now)
    odd = 2 * faster > len(kin)
    why = f", and {faster} of {len(kin)} of its kind run faster" if odd else ": at rest, or a bad link"
    return RULE.finding(
        Level.WARN if odd else Level.INFO,
        function.bus_id,
        f"{function.bus_id} runs at {now:g} GT/s, where both ends of its link can do {best:g}{why}",
        effect=effect_of(case, sets=[f"{function.bus_id}.speed={now:.1f} GT/s"], nodes=NODES)
        if odd and predict
        else "",
        current_gt_per_s=now,
        max_gt_per_s=best,
        source=f"/sys/bus/pci/devices/{function.bus_id}/current_link_speed",
    )


RULE = Rule(
    card=PCIE_LINK_DEGRADED, needs=(Need.PCI,), concerns=lambda case: has_gpus(case) or bool(nics(case)), check=_check
)
