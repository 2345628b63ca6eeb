# SPDX-License-Identifier: Apache-2.0
"""One immutable XML element, as NCCL's topology and graph files hold them.

Attributes keep their order and unknown ones survive: what was read is what is written. Lines (1-based) are kept for
messages.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.topo.errors import InputError
from railgauge.topo.values.number import strtol

LARGEST = 1 << 64
LARGEST_COUNT = 1_000_000  # links, lanes, MB/s of a chip-to-chip link


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """A tag with its ordered attributes and children; `line` is None when it was not read from a file."""

    name: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple["Element", ...] = ()
    line: int | None = None

    def get(self, key: str) -> str | None:
        """The attribute's text, or None without it."""
        for name, value in self.attributes:
            if name == key:
                return value
        return None

    def all(self, name: str) -> Iterator["Element"]:
        """The children of that name, in order."""
        return (child for child in self.children if child.name == name)

    def walk(self) -> Iterator["Element"]:
        """This element and all below it, in file order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def require(self, key: str, path: str | None) -> str:
        """The attribute's text; an InputError at this line without it."""
        value = self.get(key)
        if value is None:
            raise InputError(f"<{self.name}> has no attribute '{key}'", path, self.line)
        return value

    def integer(self, key: str, path: str | None, default: int | None = None) -> int:
        """The attribute as an integer (`to_integer`), `default` without it; an InputError if it is not a number."""
        value = self.get(key)
        if (value is None or value == "") and default is not None:
            return default
        text = value if value is not None else self.require(key, path)
        return to_integer(text, f"<{self.name}> {key}", path, self.line)

    def count(self, key: str, path: str | None, default: int | None = None) -> int:
        """As `integer`, for what cannot be negative nor beyond a million."""
        value = self.integer(key, path, default)
        if not 0 <= value <= LARGEST_COUNT:
            raise InputError(f"<{self.name}> {key} is {value}, expected 0 to {LARGEST_COUNT}", path, self.line)
        return value


def to_integer(text: str, what: str, path: str | None, line: int | None) -> int:
    """Read a number as NCCL does (strtol.py).

    Empty text is 0. InputError naming `what` without a digit or beyond 64 bits; NCCL accepts both.
    """
    if not text.strip():
        return 0
    value = strtol(text)
    if value is None:
        raise InputError(f"{what} is {text[:40]!r}, not a number", path, line)
    if not -LARGEST // 2 <= value < LARGEST:
        raise InputError(f"{what} is {text[:40]!r}, more than 64 bits", path, line)
    return value
