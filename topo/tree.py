# SPDX-License-Identifier: Apache-2.0
"""A topology tree while it grows: mutable, used by scan.py and fusion.py, frozen into Elements at the end."""

from collections.abc import Iterator

from railgauge.topo.element import Element


class Tree:
    """A growing element."""

    def __init__(self, name: str, attributes: list[tuple[str, str]], line: int | None = None) -> None:
        self.name = name
        self.line = line
        self.attributes = attributes
        self.children: list[Tree] = []

    def get(self, key: str) -> str | None:
        """An attribute's text, or None."""
        return next((value for name, value in self.attributes if name == key), None)

    def add(self, name: str, *attributes: tuple[str, str]) -> "Tree":
        """Append a new child and return it."""
        child = Tree(name, list(attributes))
        self.children.append(child)
        return child

    def insert(self, child: "Tree") -> None:
        """Add a PCI device before the first sibling with a higher bus id, as `ncclTopoGetXmlFromSys` does."""
        bus_id = child.get("busid") or ""
        later = (i for i, sibling in enumerate(self.children) if (sibling.get("busid") or "") > bus_id)
        self.children.insert(next(later, len(self.children)), child)

    def first(self, name: str) -> "Tree | None":
        """The first direct child of that name."""
        return next((child for child in self.children if child.name == name), None)

    def walk(self) -> "Iterator[Tree]":
        """This and all below."""
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, name: str, key: str, value: str) -> "Tree | None":
        """The first below with that name and attribute."""
        return next((node for node in self.walk() if node.name == name and node.get(key) == value), None)

    def freeze(self) -> Element:
        """The finished element."""
        return Element(
            name=self.name,
            attributes=tuple(self.attributes),
            children=tuple(child.freeze() for child in self.children),
            line=self.line,
        )


def fuse(into: Tree, other: Tree) -> None:
    """Append what `into` lacks of `other`, level by level (NCCL's `ncclTopoFuseXml`)."""
    for theirs in other.children:
        ours = next((c for c in into.children if c.name == theirs.name and c.attributes == theirs.attributes), None)
        if ours is None:
            into.children.append(theirs)
        else:
            fuse(ours, theirs)
