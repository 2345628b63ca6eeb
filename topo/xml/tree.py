# SPDX-License-Identifier: Apache-2.0
"""A topology tree while it grows: mutable, used by rank_tree.py and fusion.py, frozen into Elements at the end."""

from collections.abc import Callable, Iterable, Iterator

from railgauge.topo.xml.element import Element, to_integer

TRIMMED = ("cpu", "pci", "gpu", "nic", "net")  # removed if nothing in them is used


class ElementBuilder:
    """A growing element; `parent` is None while it is detached, `line` its line in a file."""

    def __init__(self, name: str, attributes: Iterable[tuple[str, str]] = (), line: int | None = None) -> None:
        self.name = name
        self.line = line
        self.attributes = dict(attributes)
        self.parent: ElementBuilder | None = None
        self.children: list[ElementBuilder] = []

    def get(self, key: str) -> str | None:
        """An attribute's text, or None."""
        return self.attributes.get(key)

    def integer(self, key: str, path: str | None, default: int = 0) -> int:
        """An attribute as a number, `default` without it; an InputError with `path` if it is not a number."""
        text = self.get(key)
        return to_integer(text, f"<{self.name}> {key}", path, self.line) if text else default

    def put(self, key: str, value: str) -> None:
        """Set an attribute, in its place or at the end."""
        self.attributes[key] = value

    def fill(self, *attributes: tuple[str, str]) -> None:
        """Set the attributes that are not there yet (NCCL's `xmlSetAttrIfUnset`)."""
        for key, value in attributes:
            self.attributes.setdefault(key, value)

    def add(self, name: str, *attributes: tuple[str, str]) -> "ElementBuilder":
        """Append a new child and return it."""
        return self.append(ElementBuilder(name, attributes))

    def append(self, child: "ElementBuilder") -> "ElementBuilder":
        """Append a child and return it."""
        child.parent = self
        self.children.append(child)
        return child

    def insert(self, child: "ElementBuilder") -> None:
        """Add a PCI device before the first sibling with a higher bus id, as `ncclTopoGetXmlFromSys` does."""
        bus_id = child.get("busid") or ""
        later = (i for i, sibling in enumerate(self.children) if (sibling.get("busid") or "") > bus_id)
        self.children.insert(next(later, len(self.children)), child)
        child.parent = self

    def all(self, name: str) -> "Iterator[ElementBuilder]":
        """The direct children of that name, in order."""
        return (child for child in self.children if child.name == name)

    def first(self, name: str) -> "ElementBuilder | None":
        """The first direct child of that name."""
        return next(self.all(name), None)

    def walk(self) -> "Iterator[ElementBuilder]":
        """This and all below."""
        yield self
        for child in self.children:
            yield from child.walk()

    def above(self) -> "Iterator[ElementBuilder]":
        """The elements above, from the parent up."""
        if self.parent:
            yield self.parent
            yield from self.parent.above()

    def find(self, name: str, key: str, value: str) -> "ElementBuilder | None":
        """The first below with that name and attribute."""
        return next((node for node in self.walk() if node.name == name and node.attributes.get(key) == value), None)

    def freeze(self) -> Element:
        """The finished element."""
        return Element(
            name=self.name,
            attributes=tuple(self.attributes.items()),
            children=tuple(child.freeze() for child in self.children),
            line=self.line,
        )


def thaw(element: Element) -> ElementBuilder:
    """A copy of a finished element that can grow."""
    tree = ElementBuilder(element.name, element.attributes, element.line)
    for child in element.children:
        tree.append(thaw(child))
    return tree


def trim(
    element: Element,
    is_used: Callable[[Element], bool],
    removable: tuple[str, ...] = TRIMMED,
    *,
    holds: Callable[[Element], bool] = lambda _: True,
) -> ElementBuilder | None:
    """A copy without the branches in which nothing is used; None when nothing is (NCCL's `ncclTopoTrimXml`).

    What is used keeps all it holds; elements of other names than the `removable` ones go only with what holds them.
    `holds` spares looking into an element of which the caller knows that nothing in it is used.
    """
    if is_used(element):
        return thaw(element)
    if element.name in removable and not holds(element):
        return None
    tree = ElementBuilder(element.name, element.attributes, element.line)
    for child in element.children:
        kept = trim(child, is_used, removable, holds=holds)
        if kept is not None:
            tree.append(kept)
    return None if element.name in removable and not any(one.name in TRIMMED for one in tree.children) else tree


def fuse(into: ElementBuilder, other: ElementBuilder) -> None:
    """Append what `into` lacks of `other`, level by level (NCCL's `ncclTopoFuseXml`)."""
    for theirs in list(other.children):
        ours = next((c for c in into.children if c.name == theirs.name and c.attributes == theirs.attributes), None)
        if ours is None:
            into.append(theirs)
        else:
            fuse(ours, theirs)
