# SPDX-License-Identifier: Apache-2.0
"""A rule about machines: a card, its check, and what the check needs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from railgauge.topo.findings.file_rule import FileRule, guarded
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case


class Need(StrEnum):
    """A prerequisite of a rule; without it the answer is UNKNOWN, with what to do."""

    MACHINE = "not in a topology file: run it on the machine, or use a capture"
    PCI = "the PCI devices were not read (/sys/bus/pci/devices)"
    NVML = "NVML did not answer"
    SETTINGS = "NCCL's settings were not captured"


def _always(_: Case) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(FileRule[Case]):
    """A FileRule with its prerequisites and cost.

    needs: its prerequisites. concerns: whether it applies to a machine; nothing is reported if it does not.
    cost: 1 reads files and answers, 2 asks the machine more (seconds).
    """

    needs: tuple[Need, ...] = (Need.MACHINE,)
    concerns: Callable[[Case], bool] = _always
    cost: int = 1

    def unknown(self, subject: str, missing: str, **evidence: Any) -> Finding:
        """UNKNOWN about a subject: what was missing, such as a permission, and what to try."""
        return self.finding(Level.UNKNOWN, subject, missing, fix=False, **evidence)


def missing(need: Need, case: Case) -> str:
    """Why a need is not met; "" if it is. A topology file lacks only the machine."""
    inventory = case.inventory
    if inventory is None:
        return str(need) if need is Need.MACHINE else ""
    if need is Need.NVML and inventory.no_nvml is not None:
        return f"{need}: {inventory.no_nvml}"
    absent = {Need.PCI: not inventory.pci, Need.SETTINGS: inventory.settings is None}
    return str(need) if absent.get(need) else ""


def unrecorded(rule: Rule, case: Case) -> Iterable[Finding]:
    """UNKNOWN if only the settings of /etc/nccl.conf are known, for rules about every setting."""
    lacks = missing(Need.SETTINGS, case)
    return [rule.unknown(case.host, lacks)] if lacks else []


def examine(rule: Rule, case: Case) -> Iterable[Finding]:
    """What a rule finds: UNKNOWN if a need is not met or it fails, PASS if it found nothing."""
    return guarded(rule.id, case.host, lambda: _examined(rule, case))


def _examined(rule: Rule, case: Case) -> Iterable[Finding]:
    if not rule.concerns(case):
        return []
    lacks = next((text for need in rule.needs if (text := missing(need, case))), "")
    if lacks:
        return [rule.unknown(case.host, lacks)]
    found = rule.find(case, case.host)
    return found or [rule.finding(Level.PASS, case.host, rule.card.passes)]
