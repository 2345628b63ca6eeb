# SPDX-License-Identifier: Apache-2.0
"""The detectors of a folder: its modules with a RULE."""

import pkgutil
from importlib import import_module
from typing import Any, TypeVar

from railgauge.topo.findings.card import in_order
from railgauge.topo.findings.file_rule import FileRule

Kind = TypeVar("Kind", bound=FileRule[Any])


def found_in(package: str, *kinds: type[Kind]) -> tuple[Kind, ...]:
    """The rules of these kinds in the modules of a package, in the order of their cards."""
    folder = import_module(package)
    modules = (import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(folder.__path__))
    rules = {rule.id: rule for module in modules if isinstance(rule := getattr(module, "RULE", None), kinds)}
    return tuple(rules[card.id] for card in in_order(rule.card for rule in rules.values()))
