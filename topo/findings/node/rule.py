# SPDX-License-Identifier: Apache-2.0
"""A rule about machines, or about a machine and its baseline: a card, its check, and what the check needs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from railgauge.topo.findings.file_rule import FileRule, guarded
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.baseline import SinceBaseline
from railgauge.topo.findings.node.repair import Repair
from railgauge.topo.machine import Machine
from railgauge.topo.values.busid import ASSUMED


class Need(StrEnum):
    """A prerequisite of a rule; without it the answer is UNKNOWN, with what to do."""

    MACHINE = "not in a topology file: run it on the machine, or use a capture"
    PCI = "the PCI devices were not read (/sys/bus/pci/devices)"
    NVML = "NVML did not answer"
    NVLINKS = "NVLinks are not said here: give nvidia-smi topo -m or nvlink -s, or run it on the machine"
    SETTINGS = "NCCL's settings were not captured"


def _always(_: Machine) -> bool:
    return True


def _no_repairs(_: Machine) -> Iterable[Repair]:
    return ()


def _any_baseline(_: SinceBaseline) -> bool:
    return True


ASKING = 2
"""The cost from which rules ask the machine more, which takes seconds; below it they read files and answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(FileRule[Machine]):
    """A rule about a machine, with its prerequisites.

    needs: its prerequisites. concerns: whether it applies to a machine; nothing is reported if it does not.
    asking: its check from the cost ASKING on; None if that is the same. repairs: what would undo the faults it finds,
    for prices (effect.py).
    """

    needs: tuple[Need, ...] = (Need.MACHINE,)
    concerns: Callable[[Machine], bool] = _always
    asking: Callable[[Machine], Iterable[Finding]] | None = None
    repairs: Callable[[Machine], Iterable[Repair]] = _no_repairs


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRule(FileRule[SinceBaseline]):
    """A rule about a machine and its baseline; nothing is reported without one, or if it does not concern it."""

    concerns: Callable[[SinceBaseline], bool] = _any_baseline


def at_cost(rule: Rule | ComparisonRule, cost: int) -> Rule | ComparisonRule:
    """The rule with its check at a cost."""
    return replace(rule, check=rule.asking) if isinstance(rule, Rule) and rule.asking and cost >= ASKING else rule


def missing(need: Need, machine: Machine) -> str:
    """Why a need is not met; "" if it is. A topology file lacks only the machine."""
    inventory = machine.facts
    if need is Need.NVLINKS:
        return str(need) if _without_nvlinks(machine) else ""
    if inventory is None:
        return str(need) if need is Need.MACHINE else ""
    if need is Need.NVML and inventory.no_nvml is not None:
        return inventory.no_nvml if inventory.no_nvml.startswith("NVML") else f"{need}: {inventory.no_nvml}"
    absent = {Need.PCI: not inventory.pci, Need.SETTINGS: inventory.settings is None}
    return str(need) if absent.get(need) else ""


def _without_nvlinks(machine: Machine) -> bool:
    """Whether nobody says which NVLinks there are: not a file that has GPUs by class alone, nor what was pasted."""
    if machine.topology.assumed or not getattr(machine.reader, "pasted", ()):
        return machine.topology.assumed
    gpus = (machine.sources.reader.facts("nvml") or {}).get("gpus", ())
    return any(gpu.get("links") is None for gpu in gpus)


def unrecorded(rule: Rule, machine: Machine) -> Iterable[Finding]:
    """UNKNOWN if only the settings of /etc/nccl.conf are known, for rules about every setting."""
    lacks = missing(Need.SETTINGS, machine)
    return [rule.unknown(machine.host, lacks)] if lacks else []


def examine(rule: Rule | ComparisonRule, machine: Machine, since: SinceBaseline | None = None) -> Iterable[Finding]:
    """What a rule finds: UNKNOWN if a need is not met or it fails, PASS if it found nothing."""
    if isinstance(rule, ComparisonRule):
        return guarded(rule.id, machine.host, lambda: _compared(rule, since) if since else [])
    return guarded(rule.id, machine.host, lambda: _examined(rule, machine))


def _examined(rule: Rule, machine: Machine) -> Iterable[Finding]:
    if not rule.concerns(machine):
        return []
    lacks = next((text for need in rule.needs if (text := missing(need, machine))), "")
    if lacks:
        return [rule.unknown(machine.host, lacks)]
    return [_with_gpu(one, machine) for one in rule.find(machine, machine.host)] or [_passed(rule, machine)]


def _with_gpu(finding: Finding, machine: Machine) -> Finding:
    """The finding with the GPU's index where its bus id is assumed, which says nothing to a user."""
    if not finding.subject.startswith(f"{ASSUMED}:"):
        return finding
    gpu = machine.sources.gpu(finding.subject)
    if gpu is None or f"GPU{gpu.index}" in finding.message:
        return finding
    return replace(finding, message=f"GPU{gpu.index}: {finding.message}")


def _compared(rule: ComparisonRule, since: SinceBaseline) -> Iterable[Finding]:
    if not rule.concerns(since):
        return []
    return rule.find(since, since.machine.host) or [_passed(rule, since.machine)]


def _passed(rule: Rule | ComparisonRule, machine: Machine) -> Finding:
    return rule.finding(Level.PASS, machine.host, rule.card.passes)
