# SPDX-License-Identifier: Apache-2.0
"""One table of a machine description, read key by key: errors name the file and the key."""

import tomllib
from collections.abc import Iterator
from typing import Any

from railgauge.topo.errors import InputError
from railgauge.topo.values.cpuset import from_list

LARGEST = 1 << 20  # bytes of a description
MOST = 1 << 31  # of a whole number
KINDS = {str: "a text", int: "a whole number", bool: "true, false", dict: "a table", list: "a list"}


class Section:
    """A table of TOML. Every getter marks its key as known; `end` reports those that were not read."""

    def __init__(self, table: dict[str, Any], name: str, path: str) -> None:
        self.name = name
        self.path = path
        self._table = table
        self._known: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def text(self, key: str, default: str | None = None) -> str:
        """A text; needed when there is no default."""
        return str(self._take(key, str, default))

    def maybe(self, key: str) -> str | None:
        """A text, or None when the key is absent."""
        return self.text(key) if key in self else None

    def integer(self, key: str, default: int | None = None, most: int = MOST) -> int:
        """A whole number from 0 to `most`."""
        value = int(self._take(key, int, default))
        if not 0 <= value <= most:
            raise self.wrong(key, f"is {value}, expected 0 to {most}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        return bool(self._take(key, bool, default))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; one text alone is a list of one, an absent key an empty list."""
        return tuple(self._items(key, str))

    def integers(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers; one alone is a list of one, an absent key an empty list."""
        return tuple(self._items(key, int))

    def numbers(self, key: str, default: str | None = None) -> tuple[int, ...]:
        """A list of numbers written as sysfs does, such as "0-15,64-79"; ascending."""
        try:
            return from_list(self.text(key, default))
        except ValueError as error:
            raise self.wrong(key, f"is not a list such as 0-15,64-79: {error}") from error

    def section(self, key: str) -> "Section":
        """A table below this one; an empty one when the key is absent."""
        return Section(self._take(key, dict, {}), self._named(key), self.path)

    def sections(self, key: str) -> tuple["Section", ...]:
        """The tables of an array; none when the key is absent."""
        return tuple(
            Section(self._checked(f"{key}[{i}]", one, dict), self._named(f"{key}[{i}]"), self.path)
            for i, one in enumerate(self._take(key, list, []))
        )

    def any(self, key: str) -> Any:
        """Whatever value the key has."""
        self._known.add(key)
        return self._table[key]

    def wrong(self, key: str, why: str) -> InputError:
        """The error about one key."""
        return InputError(f"{self._named(key)}: {why}", self.path)

    def end(self) -> None:
        """InputError when there is a key that means nothing here."""
        for key in self._table:
            if key not in self._known:
                known = ", ".join(sorted(self._known)) or "nothing"
                raise self.wrong(key, f"is unknown here; known keys: {known}")

    def _take(self, key: str, kind: type, default: Any) -> Any:
        self._known.add(key)
        if key not in self._table:
            if default is None:
                raise self.wrong(key, f"is missing, expected {KINDS[kind]}")
            return default
        return self._checked(key, self._table[key], kind)

    def _items(self, key: str, kind: type) -> list[Any]:
        value = self._table.get(key, [])
        self._known.add(key)
        items = value if isinstance(value, list) else [value]
        return [self._checked(key, item, kind) for item in items]

    def _checked(self, key: str, value: Any, kind: type) -> Any:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.wrong(key, f"is {str(value)[:40]!r}, expected {KINDS[kind]}")
        return value

    def _named(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key


def parse(data: bytes, path: str) -> Section:
    """The whole file as one section; InputError when it is too large or not TOML in UTF-8."""
    if len(data) > LARGEST:
        raise InputError(f"larger than {LARGEST >> 10} KiB: not a machine description", path)
    try:
        return Section(tomllib.loads(data.decode()), "", path)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not a machine description: {error}", path) from error
