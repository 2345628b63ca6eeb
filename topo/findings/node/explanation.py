# SPDX-License-Identifier: Apache-2.0
"""What a finding is, in full: of a rule about machines, about links, about files, about logs, or about counters."""

from collections.abc import Mapping
from textwrap import fill
from typing import Any

from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.findings.gdr.findings import RULE as GDR_RULE
from railgauge.topo.findings.gdr.transfers import RULE as TRANSFER_RULE
from railgauge.topo.findings.graph_file.rules import KNOWN as GRAPH_RULES
from railgauge.topo.findings.link_rules import RULES as LINK_RULES
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.findings.node.rules import RULES
from railgauge.topo.findings.topology_file.rules import RULES as FILE_RULES
from railgauge.topo.findings.traffic.rules import RULES as COUNTER_RULES
from railgauge.topo.jobs.hang.rules.rules import RULES as HANG_RULES
from railgauge.topo.jobs.logs.rules import RULES as LOG_RULES

COLUMNS = 80


def known() -> Mapping[str, FileRule[Any]]:
    """All rules by id; of two with one id that about machines, which tells more."""
    logs: tuple[FileRule[Any], ...] = (*LOG_RULES, *HANG_RULES)
    machines: tuple[FileRule[Any], ...] = (*RULES, GDR_RULE, *LINK_RULES)
    rules: tuple[FileRule[Any], ...] = (*COUNTER_RULES, *logs, *GRAPH_RULES, *FILE_RULES, TRANSFER_RULE, *machines)
    return {rule.id: rule for rule in rules}


def explanation(name: str) -> str:
    """The text about a known id."""
    rule = known()[name]
    parts = [f"{rule.id}: {rule.title} ({', '.join(rule.levels)})"]
    if isinstance(rule, Rule):
        parts += [_paragraph(rule.about), _listed("How it shows", rule.shows), _listed("What is read", rule.reads)]
        parts += [_paragraph(f"How to be sure: {rule.sure}") if rule.sure else ""]
    parts.append(_paragraph(f"How to mend it: {rule.remedy}") if rule.remedy else "")
    if isinstance(rule, Rule):
        parts.append(_listed("Met in", rule.links))
    return "\n\n".join(part for part in parts if part)


def _paragraph(text: str) -> str:
    """Lines that any terminal shows whole; commands are not broken within a word."""
    return fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def _listed(title: str, lines: tuple[str, ...]) -> str:
    return "\n".join([f"{title}:", *(f"    {line}" for line in lines)]) if lines else ""
