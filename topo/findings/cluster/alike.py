# SPDX-License-Identifier: Apache-2.0
"""Nodes with equal attributes: a vote examines them once, with the weight of their number."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from railgauge.topo.compare.attributes import Attributes
from railgauge.topo.compare.inventory_attributes import SETTINGS
from railgauge.topo.findings.cluster.node import Sheet
from railgauge.topo.values.number import natural

Key = tuple[str, str]
"""An item's kind and id."""
NOT_SET = "not set"


@dataclass(frozen=True)
class Alike:
    """The attributes (a Sheet) of equal nodes, and the names of these nodes in natural order."""

    sheet: Sheet
    nodes: tuple[str, ...]

    @cached_property
    def items(self) -> Mapping[Key, Attributes]:
        """The sheet's items."""
        return {(item.kind, item.id): item for item in self.sheet}


def alike(sheets: Iterable[tuple[str, Sheet]]) -> list[Alike]:
    """Nodes by name with their attributes, folded: the most frequent first, of equal frequency by first name.

    Equal attributes are one object (folder.py).
    """
    found: dict[int, tuple[Sheet, list[str]]] = {}
    for name, sheet in sheets:
        found.setdefault(id(sheet), (sheet, []))[1].append(name)
    classes = [Alike(sheet, tuple(sorted(names, key=natural))) for sheet, names in found.values()]
    return sorted(classes, key=lambda one: (-len(one.nodes), natural(one.nodes[0])))


def with_all_settings(classes: Iterable[Alike]) -> list[Alike]:
    """The same with every setting of any of them in each: one that a node lacks is "not set" there."""
    classes = list(classes)
    names = dict.fromkeys(name for one in classes for item in _settings(one) for name in sorted(item.facts))
    return (
        [Alike(tuple(_filled(item, names) for item in one.sheet), one.nodes) for one in classes] if names else classes
    )


def _settings(one: Alike) -> list[Attributes]:
    return [item for item in one.sheet if item.kind == SETTINGS]


def _filled(item: Attributes, names: Iterable[str]) -> Attributes:
    if item.kind != SETTINGS:
        return item
    return replace(item, facts={name: item.facts.get(name, NOT_SET) for name in names})
