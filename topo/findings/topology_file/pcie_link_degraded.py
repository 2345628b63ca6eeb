# SPDX-License-Identifier: Apache-2.0
"""A device whose link is slower than its siblings', its own ports', or the machine's.

A file holds the most that a link can do (max_link_speed, max_link_width), so a lower figure there is a slot or a riser
that is too narrow, or a file that was written while something was wrong. The current state of
a link is known on the machine only.
"""

from collections.abc import Iterator
from typing import Any

from railgauge.topo.findings.cards.pcie import PCIE_LINK_DEGRADED
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.pci_links import gb_per_s, text
from railgauge.topo.findings.topology_file.present import on_machine
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.link_state.pcie import PciState, Rate, first_of_each_card, judge_pci
from railgauge.topo.link_state.verdict import Reason
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.link_facts import pci_links

HALF = 0.5
RUNNING = (Reason.ENDS_LANES, Reason.ENDS_SPEED)


def _check(file: Machine) -> Iterator[Finding]:
    told = set()
    for finding in _against(file):
        told.add(finding.subject)
        yield finding
    for state in first_of_each_card(judge_pci(pci_links(file.topology, file.facts))):
        if state.is_fault and state.reason is not Reason.BOGUS and state.link.bus_id not in told:
            yield _running(state) if state.reason in RUNNING else below_peers(RULE, state, state.link.line)


def severity(state: PciState) -> Level:
    """FAIL for a link that carries half of what it should, or less; its speed counts only if that is the fault."""
    now, full = state.link.now or Rate(), state.full
    shares = {
        Reason.ENDS_LANES: (now.lanes, full.lanes),
        Reason.ENDS_SPEED: (now.gt_per_s, full.gt_per_s),
    }
    here, whole = shares.get(state.reason or Reason.TWINS, (state.link.gb_per_s, state.full_gb_per_s))
    return Level.FAIL if (here or 0) <= HALF * (whole or 0) else Level.WARN


def below_peers(rule: FileRule[Any], state: PciState, line: int | None = None) -> Finding:
    """A finding about a link that supports less than its siblings, its ports, or a link below it."""
    link, full = state.link, state.full_gb_per_s
    beside = {
        Reason.TWINS: f"{state.many} of {state.among} such devices have {state.full.text}",
        Reason.PORT: f"its port carries {full:g} GB/s",
        Reason.PORTS: f"its ports carry {full:g} GB/s",
        Reason.BELOW: f"a single link below it carries {full:g} GB/s",
    }
    return rule.finding(
        severity(state),
        link.bus_id,
        f"its link is {link.can.text}, {beside[state.reason or Reason.TWINS]}",
        effect=f"{full:g} -> {link.gb_per_s:g} GB/s for this device",
        line=line,
        link_speed=link.can.gt_per_s and f"{link.can.gt_per_s:.1f} GT/s PCIe",
        link_width=link.can.lanes and str(link.can.lanes),
        gb_per_s=link.gb_per_s,
        full_gb_per_s=full,
    )


def _against(file: Machine) -> Iterator[Finding]:
    """The file's links compared with those that NCCL would read on the machine."""
    real = {pci.key[1]: pci for pci in on_machine(file, "pci")}
    for pci in file.topology.placed("pci"):
        there = real.get(pci.key[1])
        known = there is not None and there.get("link_speed") and (there.number("link_width") or 0) > 0
        if there is not None and known and gb_per_s(pci) < gb_per_s(there):
            yield RULE.at(
                pci,
                Level.WARN,
                f"its link is {text(pci)} in the file, {text(there)} on the machine",
                effect=f"{gb_per_s(there):g} -> {gb_per_s(pci):g} GB/s for this device",
                link_speed=pci.get("link_speed"),
                link_width=pci.get("link_width"),
                gb_per_s=gb_per_s(pci),
                full_gb_per_s=gb_per_s(there),
            )


def _running(state: PciState) -> Finding:
    """A link that runs below the capability of both ends on the machine."""
    link, now = state.link, state.running
    share = (now.gbit_per_s or 0) / (link.can.gbit_per_s or 1)
    return RULE.finding(
        severity(state),
        link.bus_id,
        f"its link is {link.can.text} in the file, and runs {now.text} on the machine",
        effect=f"{link.gb_per_s:g} -> {link.gb_per_s * share:g} GB/s for this device" if 0 < share < 1 else "",
        line=link.line,
        link_width=link.can.lanes and str(link.can.lanes),
        lanes=now.lanes,
    )


RULE = TopologyFileRule(card=PCIE_LINK_DEGRADED, check=_check)
