# SPDX-License-Identifier: Apache-2.0
"""The detectors of a folder: its modules with a RULE; and those among them that a command asks for."""

import pkgutil
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any, TypeVar

from railgauge.topo.errors import UsageError
from railgauge.topo.findings.card import cards, in_order
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.values.near import did_you_mean

Kind = TypeVar("Kind", bound=FileRule[Any])


def found_in(package: str, *kinds: type[Kind]) -> tuple[Kind, ...]:
    """The rules of these kinds in the modules of a package, in the order of their cards."""
    folder = import_module(package)
    modules = (import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(folder.__path__))
    rules = {rule.id: rule for module in modules if isinstance(rule := getattr(module, "RULE", None), kinds)}
    return tuple(rules[card.id] for card in in_order(rule.card for rule in rules.values()))


def selected(known: Sequence[str], only: Collection[str], skip: Collection[str]) -> tuple[str, ...]:
    """The requested ids, among those of a command.

    UsageError for a requested id that is not the command's; ids of other commands may be skipped.
    """
    unknown = sorted({*only, *(one for one in skip if one not in cards())} - set(known))
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise UsageError(f"not checked by this command: {', '.join(unknown)}{near}; use one of: {', '.join(known)}")
    return tuple(one for one in known if one not in skip and (not only or one in only))
