# SPDX-License-Identifier: Apache-2.0
"""Expectations of one machine: by key what should be there, and who says so."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from railgauge.topo.errors import UsageError
from railgauge.topo.expect.key import Expected, parse
from railgauge.topo.expect.profile import load
from railgauge.topo.expect.shipped import by_name

OPTION = "--expect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One value, and its source: --expect, a file, or a profile. at_least: more are as good (counts of a model)."""

    value: Expected
    source: str
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Expectations:
    """Expectations by key."""

    by_key: Mapping[str, Expectation] = field(default_factory=dict)

    def __or__(self, other: "Expectations") -> "Expectations":
        """Both; of a key in both that of `other`."""
        return Expectations({**self.by_key, **other.by_key})

    def __bool__(self) -> bool:
        return bool(self.by_key)


def given(texts: Iterable[str]) -> Expectations:
    """Those of --expect: KEY=VALUE,..., a file, or the name of a shipped profile; a later one replaces an earlier one.

    UsageError for an unknown key or an impossible value, InputError for such a file.
    """
    found = Expectations()
    for text in texts:
        found |= _listed(text) if "=" in text else _named(text)
    return found


def _listed(text: str) -> Expectations:
    return Expectations({key: Expectation(value=parse(key, value), source=OPTION) for key, value in _pairs(text)})


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        key, equals, value = (one.strip() for one in part.partition("="))
        if not equals or not key or not value:
            raise UsageError(f"{OPTION} {text}: {part!r} is not KEY=VALUE, such as gpus=8")
        yield key, value


def _named(text: str) -> Expectations:
    profile = by_name(text) or load(text)
    source = f"profile {profile.name}" if by_name(text) else text
    return Expectations({key: Expectation(value=value, source=source) for key, value in profile.expect.items()})
