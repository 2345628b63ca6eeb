# SPDX-License-Identifier: Apache-2.0
"""A profile: a TOML file with what a kind of machine has. Sites write theirs, those of common models are shipped.

[expect] has a value for each key (key.py), or a table of how many devices have each:

    [expect]
    gpus = 8
    rate = { "400" = 8, "200" = 4 }
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from railgauge.topo.errors import InputError, UsageError
from railgauge.topo.expect.key import KEYS, Expected, Key, unknown_key, value_of
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.values.near import did_you_mean

LARGEST = 1 << 18  # bytes
TABLES = ("name", "about", "expect")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a kind of machine has, by key. about: the machine in words. match: how a shipped one is found. unknown: of
    keys that this release does not know, why; the others count.
    """

    name: str
    about: str = ""
    expect: Mapping[str, Expected]
    match: Mapping[str, Any] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)


def load(path: str) -> Profile:
    """A site's profile; InputError with the key where it is wrong."""
    return loads(read_bytes(path, LARGEST), path)


def _parsed(data: bytes, path: str) -> dict[str, Any]:
    """The tables of a file; those in the collector are JSON, because Python 3.10 reads no TOML."""
    if path.endswith(".json"):
        return dict(json.loads(data))
    import tomllib

    return tomllib.loads(data.decode())


def loads(data: bytes, path: str, tables: tuple[str, ...] = TABLES) -> Profile:
    """The profile in a file's bytes; `path` stands in errors."""
    if len(data) > LARGEST:
        raise InputError(f"larger than {LARGEST >> 10} KiB: not a profile", path)
    try:
        top = _parsed(data, path)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"not a profile: {error}", path) from error
    unknown = {key: _unknown(key, tables) for key in top if key not in tables}
    if unknown and "expect" not in top:
        key, why = next(iter(unknown.items()))
        raise InputError(f"{key}: {why}", path)
    found = {name: _table(top, name, path) for name in ("expect", "match")}
    return Profile(
        name=_text(top, "name", path),
        about=_text(top, "about", path),
        expect={key: _value(KEYS[key], value, path) for key, value in found["expect"].items() if key in KEYS},
        match=found["match"],
        unknown=unknown | {key: unknown_key(key) for key in found["expect"] if key not in KEYS},
    )


def _unknown(key: str, tables: tuple[str, ...]) -> str:
    if key in KEYS:
        return "is an expectation: it goes below a line [expect]"
    hint = did_you_mean(key, tables) or f"; known keys: {', '.join(tables)}"
    return f"is unknown here{hint}"


def _table(top: Mapping[str, Any], name: str, path: str) -> Mapping[str, Any]:
    found = top.get(name, {})
    if not isinstance(found, dict) or (name == "expect" and not found):
        raise InputError(f"{name}: expected a table of expectations, such as gpus = 8", path)
    return found


def _text(top: Mapping[str, Any], name: str, path: str) -> str:
    found = top.get(name, "")
    if not isinstance(found, str):
        raise InputError(f"{name}: expected a text", path)
    return found


def _value(key: Key, value: Any, path: str) -> Expected:
    try:
        return _counts(key, value) if isinstance(value, dict) else value_of(key, _scalar(key, value))
    except UsageError as error:
        raise InputError(f"expect.{key.name}: {error}", path) from error


def _scalar(key: Key, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{str(value)[:40]!r} is not a value ({key.about})")
    return str(value)


def _counts(key: Key, value: Mapping[str, Any]) -> Expected:
    if not key.of_devices or not value:
        raise UsageError(f"expected one value ({key.about})")
    for one, count in value.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise UsageError(f"{one!r}: expected the number of devices that have it")
    return {value_of(key, one): count for one, count in value.items()}


def dumps(profile: Profile, unread: Mapping[str, str]) -> str:
    """The file's text; unread: why keys are left out, as comments."""
    lines = [f"name = {_quoted(profile.name)}", f"about = {_quoted(profile.about)}", "", "[expect]"]
    lines += [f"{key} = {_written(value)}" for key, value in profile.expect.items()]
    lines += [f"# {key}: {why}" for key, why in unread.items()]
    return "\n".join(lines) + "\n"


def _written(value: Expected) -> str:
    if isinstance(value, str):
        return value if value.isascii() and value.isdecimal() else _quoted(value)
    return f"{{ {', '.join(f'{_quoted(one)} = {count}' for one, count in value.items())} }}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
