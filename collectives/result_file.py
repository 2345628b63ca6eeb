# SPDX-License-Identifier: Apache-2.0
"""Reads a run document back from its file; unknown fields are ignored, as docs/reference/json.md requires."""

import dataclasses
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from railgauge.collectives.document import SCHEMA, RunDocument
from railgauge.topo.errors import InputError
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.files.json_value import json_value
from railgauge.topo.values.printable import all_printable

MOST_BYTES = 256 << 20
JSON_NAMES = {"from_rank": "from", "to_rank": "to"}
"""Fields that have another name in the document."""
MOST = {int: 1 << 62, float: 1e15}
"""Upper bound of all values: sizes, microseconds, GB/s."""
KINDS = {int: "an integer", float: "a number", str: "a text", type(None): "null"}
T = TypeVar("T")


def load(path: str) -> RunDocument:
    """The result written by `run --json`, -J or -o.

    Raises:
        InputError: it cannot be read, or is not such a document; the message names the field.
    """
    value = load_document(path, SCHEMA, "a result of a run", "railgauge run --json, -J and -o FILE.json")
    try:
        return _made(RunDocument, value, "")
    except (ValueError, OverflowError) as error:  # the latter for an integer that is too large for a float
        raise InputError(f"not a result of a run: {error}", path) from None


def load_document(path: str, schema: str, what: str, by: str) -> dict[str, Any]:
    """The JSON object of a schema in a file; InputError names `what` was expected, and the commands that write it."""
    text = read_bytes(path, MOST_BYTES)
    if len(text) > MOST_BYTES:
        raise InputError(f"larger than {MOST_BYTES >> 20} MiB: not a result", path)
    try:
        value = all_printable(json_value(text))
    except ValueError as error:
        raise InputError(str(error), path) from None
    if not isinstance(value, dict) or value.get("schema") != schema:
        raise InputError(f"not {what} ({schema}), as `{by}` write", path)
    return value


def _made(kind: type[T], value: Any, where: str) -> T:
    """A record from a JSON object; ValueError names the field that does not fit."""
    if type(value) is not dict:
        raise ValueError(f"{where} is not an object")
    forms, found = get_type_hints(kind), {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        name = JSON_NAMES.get(field.name, field.name)
        if name in value or field.default is dataclasses.MISSING:
            found[field.name] = _value(forms[field.name], value.get(name), f"{where}.{name}".lstrip("."))
    return kind(**found)


def _value(form: Any, value: Any, where: str) -> Any:
    if (kind := get_origin(form)) in (list, tuple):
        if type(value) is not list:
            raise ValueError(f"{where} is not a list")
        return kind(_value(get_args(form)[0], item, f"{where}[{place}]") for place, item in enumerate(value))
    if dataclasses.is_dataclass(form):
        return _made(form, value, where)  # type: ignore[arg-type]
    return _plain(get_args(form) if isinstance(form, UnionType) else (form,), value, where)


def _plain(kinds: tuple[type, ...], value: Any, where: str) -> Any:
    if type(value) is int and int not in kinds and float in kinds:
        value = float(value)
    if type(value) not in kinds:
        raise ValueError(f"{where} is not {' or '.join(KINDS[kind] for kind in kinds)}")
    if type(value) in MOST and not -1 <= value <= MOST[type(value)]:  # NaN neither
        raise ValueError(f"{where} is out of range")
    return value
