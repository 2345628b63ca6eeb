# SPDX-License-Identifier: Apache-2.0
"""Elements of a file that stand for the same model, and those that differ from most of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from railgauge.topo.xml.element import Element
from railgauge.topo.xml.placed_element import PlacedElement

MODEL = ("vendor", "device", "subsystem_vendor", "subsystem_device")


class Below(NamedTuple):
    """An element with less than `many` of the `of` elements of its model have."""

    element: PlacedElement
    value: int
    usual: int
    many: int
    of: int


def model(pci: Element | PlacedElement) -> tuple[str | None, ...]:
    """What elements <pci> of one model have in common."""
    return tuple(map(pci.get, MODEL))


def odd(elements: Iterable[PlacedElement], key: str) -> Iterator[Below]:
    """Those in a <pci> whose number in an attribute is below that of more than half of their model."""
    models: dict[tuple[str | None, ...], list[tuple[PlacedElement, int]]] = defaultdict(list)
    for one in elements:
        pci, value = one.nearest("pci"), one.number(key)
        if pci is not None and pci.get("device") and value is not None:
            models[(one.host, *model(pci))].append((one, value))
    for same in models.values():
        (usual, count), *_ = Counter(value for _, value in same).most_common(1)
        for one, value in same if 2 * count > len(same) else ():
            if value < usual:
                yield Below(one, value, usual, count, len(same))
