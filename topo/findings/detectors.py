# SPDX-License-Identifier: Apache-2.0
"""The detectors of a folder: its modules with a RULE; and those among them that a command asks for."""

import pkgutil
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, TypeVar

from railgauge.topo.errors import UsageError
from railgauge.topo.findings.card import cards, in_order
from railgauge.topo.findings.file_rule import FileRule
from railgauge.topo.values.near import did_you_mean

Kind = TypeVar("Kind", bound=FileRule[Any])
MOST = 3  # unknown ids that a message names


def found_in(package: str, *kinds: type[Kind]) -> tuple[Kind, ...]:
    """The rules of these kinds in the modules of a package, in the order of their cards."""
    folder = import_module(package)
    modules = (import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(folder.__path__))
    rules = {rule.id: rule for module in modules if isinstance(rule := getattr(module, "RULE", None), kinds)}
    return tuple(rules[card.id] for card in in_order(rule.card for rule in rules.values()))


EXPLAIN = "railgauge explain lists all ids"


def selected(known: Sequence[str], only: Iterable[str], skip: Iterable[str], listed: str = EXPLAIN) -> tuple[str, ...]:
    """The requested ids, among those of a command; each text is an id or several with commas between them. `listed`:
    what shows the ids, in words.

    UsageError for a requested id that is not the command's; ids of other commands may be skipped.
    """
    wanted, left_out = _ids(only), _ids(skip)
    unknown = sorted({*wanted, *(one for one in left_out if one not in cards())} - {*known})
    if unknown:
        more = f" and {len(unknown) - MOST} more" if len(unknown) > MOST else ""
        named = ", ".join(_with_hint(one, known) for one in unknown[:MOST])
        raise UsageError(f"not checked by this command: {named}{more}; {listed}")
    return tuple(one for one in known if one not in left_out and (not wanted or one in wanted))


def _ids(texts: Iterable[str]) -> list[str]:
    """The ids in texts; an empty one, which no command has, stays."""
    return [one.strip() for text in texts for one in text.split(",")]


def _with_hint(unknown: str, known: Sequence[str]) -> str:
    hint = did_you_mean(unknown, known).removeprefix("; ")
    return f"{unknown!r} ({hint}?)" if hint else repr(unknown)
