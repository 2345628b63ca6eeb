# SPDX-License-Identifier: Apache-2.0
"""Detectors that need several nodes: all modules of the folder rules/ that have a CARD."""

import pkgutil
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module

from railgauge.topo.findings.card import in_order
from railgauge.topo.findings.cluster import rules
from railgauge.topo.findings.cluster.examination import Examined
from railgauge.topo.findings.file_rule import guarded
from railgauge.topo.findings.finding import Finding


def across(nodes: Sequence[Examined]) -> Iterator[Finding]:
    """The findings of all, in the order of their cards."""
    modules = [import_module(f"{rules.__name__}.{module.name}") for module in pkgutil.iter_modules(rules.__path__)]
    looks = {module.CARD: module.find for module in modules if hasattr(module, "CARD")}
    for card in in_order(looks):
        yield from guarded(card.id, "", partial(looks[card], nodes))
