# SPDX-License-Identifier: Apache-2.0
"""Expectations of one machine: by key what should be there, and who says so."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from railgauge.topo.errors import UsageError
from railgauge.topo.expect.key import KEYS, Expected, parse
from railgauge.topo.expect.profile import Profile, load
from railgauge.topo.expect.shipped import by_name, find, profiles
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.values.near import did_you_mean

OPTION = "--expect"


class Expectation(NamedTuple):
    """One value, and its source: --expect, a file, or a profile. at_least: more are as good (counts of a model).
    unknown: why a file's key says nothing.
    """

    value: Expected
    source: str
    at_least: bool = False
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Expectations:
    """Expectations by key."""

    by_key: Mapping[str, Expectation] = field(default_factory=dict)

    def __or__(self, other: "Expectations") -> "Expectations":
        """Both; of a key in both that of `other`."""
        return Expectations({**self.by_key, **other.by_key})

    def __bool__(self) -> bool:
        return bool(self.by_key)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Keys of files that say nothing."""
        return tuple(f"{one.source}: {key}: {one.unknown}" for key, one in self.by_key.items() if one.unknown)


NOTHING_EXPECTED = Expectations()


def given(texts: Iterable[str]) -> Expectations:
    """Those of --expect: KEY=VALUE,..., a file, or the name of a shipped profile; a later one replaces an earlier one.

    UsageError for an unknown key or an impossible value, InputError for such a file.
    """
    found = Expectations()
    for text in texts:
        found |= _listed(text) if "=" in text else _named(text)
    return found


def _listed(text: str) -> Expectations:
    listed: dict[str, Expectation] = {}
    for key, value in _pairs(text):
        one = Expectation(value=parse(key, value), source=OPTION)
        if listed.setdefault(key, one) != one:
            raise UsageError(f"{OPTION} {text}: two values of {key}; one list has each key once")
    return Expectations(listed)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        key, equals, value = (one.strip() for one in part.partition("="))
        if not equals or not key or not value:
            raise UsageError(f"{OPTION} {text}: {part!r} is not KEY=VALUE, such as gpus=8")
        yield key, value


def _named(text: str) -> Expectations:
    shipped = by_name(text)
    return of_profile(shipped, "named") if shipped else _of_file(text)


def _of_file(path: str) -> Expectations:
    if not os.path.exists(path):
        hint = did_you_mean(path, [profile.name for profile in profiles()])
        raise UsageError(f"{OPTION} {path}: neither KEY=VALUE nor a file nor a profile{hint}")
    profile = load(path)
    known = {key: Expectation(value=value, source=path) for key, value in profile.expect.items()}
    unknown = {key: Expectation(value="", source=path, unknown=why) for key, why in profile.unknown.items()}
    return Expectations(known | unknown)


def of_profile(profile: Profile, by: str) -> Expectations:
    """Those of a shipped profile; by: how it was found. Of devices that are counted there may be more."""
    source = f"profile {profile.name}, {by}"
    return Expectations(
        {
            key: Expectation(value=value, source=source, at_least=not KEYS[key].of_devices)
            for key, value in profile.expect.items()
        }
    )


def of_model(facts: MachineFacts) -> Expectations:
    """Those of the machine's model; none where it is not known for sure."""
    found = find(facts)
    return of_profile(found.profile, f"found by {found.by}") if found else Expectations()
