# SPDX-License-Identifier: Apache-2.0
"""A rule about machines: a card, the check that sees it, and what that needs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from railgauge.topo.findings.file_rule import FileRule, guarded
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case


class Need(StrEnum):
    """What a rule cannot do without; where it is missing the answer is UNKNOWN, with what to give."""

    MACHINE = "a topology file does not tell: run it on the machine, or give a capture"
    PCI = "the PCI devices were not read (/sys/bus/pci/devices)"
    NVML = "NVML did not answer"
    SETTINGS = "the settings of NCCL were not recorded"


def _always(_: Case) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(FileRule[Case]):
    """A FileRule with what running it takes.

    needs: what it cannot do without. concerns: whether it has anything to say about a machine; nothing is reported
    where it has not. cost: 1 reads files and answers, 2 asks the machine more (seconds).
    """

    needs: tuple[Need, ...] = (Need.MACHINE,)
    concerns: Callable[[Case], bool] = _always
    cost: int = 1

    def unknown(self, subject: str, missing: str, **evidence: Any) -> Finding:
        """UNKNOWN about a subject: what was missing, such as a permission, and what to try."""
        return self.finding(Level.UNKNOWN, subject, missing, fix=False, **evidence)


def missing(need: Need, case: Case) -> str:
    """Why a need is not met; "" where it is. A topology file lacks the machine alone: the rest it tells itself."""
    inventory = case.inventory
    if inventory is None:
        return str(need) if need is Need.MACHINE else ""
    if need is Need.NVML and inventory.no_nvml is not None:
        return f"{need}: {inventory.no_nvml}"
    absent = {Need.PCI: not inventory.pci, Need.SETTINGS: inventory.settings is None}
    return str(need) if absent.get(need) else ""


def unrecorded(rule: Rule, case: Case) -> Iterable[Finding]:
    """UNKNOWN where only /etc/nccl.conf told settings, for rules that look at each setting that there is."""
    lacks = missing(Need.SETTINGS, case)
    return [rule.unknown(case.host, lacks)] if lacks else []


def examine(rule: Rule, case: Case) -> Iterable[Finding]:
    """What a rule finds: UNKNOWN where it lacks something or fails, PASS where it looked and found nothing."""
    return guarded(rule.id, case.host, lambda: _examined(rule, case))


def _examined(rule: Rule, case: Case) -> Iterable[Finding]:
    if not rule.concerns(case):
        return []
    lacks = next((text for need in rule.needs if (text := missing(need, case))), "")
    if lacks:
        return [rule.unknown(case.host, lacks)]
    found = rule.find(case, case.host)
    return found or [rule.finding(Level.PASS, case.host, rule.card.passes)]
