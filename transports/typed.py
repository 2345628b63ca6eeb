# SPDX-License-Identifier: Apache-2.0
"""Values of Python types out of decoded JSON: what another rank sent is held against a type's annotations before
anything is done with it.
"""

import contextlib
import functools
import json
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from railgauge.topo.values.printable import all_printable

Unsigned64: TypeAlias = Annotated[int, "unsigned, 64 bits"]
"""An integer that may be larger than those of an int, such as a hash."""
SIGNED64, UNSIGNED64 = range(-(1 << 63), 1 << 63), range(1 << 64)
LISTS = (list, Sequence)
OBJECTS = (dict, Mapping)
PLAIN = (bool, int, str, list, dict)
WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What code raises that takes something for what it is not."""


def read_json(text: bytes, kind: Any) -> Any:
    """Decode JSON of a kind (`read_as`).

    Raises:
        ValueError: it is not JSON, or of another form.
    """
    return read_as(kind, _decoded(text))


def read_printable_json(text: bytes, kind: Any) -> Any:
    """The same of a value that is shown to users: its texts are printable, on one line each (`all_printable`)."""
    return read_as(kind, all_printable(_decoded(text)))


def read_as(kind: Any, value: Any) -> Any:
    """A value as what it was before it became JSON (`jsonable`).

    Args:
        kind: None, bool, int (signed, 64 bits), Unsigned64, float, str, bytes (hex text); of those and each other
            X | Y, list[X], tuple[X, Y], tuple[X, ...], dict[str, X]; a NamedTuple (a list), a dataclass (an object
            with just its fields); anything else is called with the value, as an enum is.
        value: what json.loads has given.

    Raises:
        ValueError: it is of another form.
    """
    try:
        return _read(kind, value)
    except WRONG as error:
        raise ValueError(str(error)) from None


def listed(*kinds: Any) -> Any:
    """The kind of a list of just these, as tuple[X, Y] is, for as many as are only known by then."""
    return types.GenericAlias(tuple, kinds)


def jsonable(value: Any) -> Any:
    """What json.dumps makes of a value that it does not know (its `default`): hex text of bytes, an object of a
    dataclass.
    """
    if isinstance(value, bytes):
        return value.hex()
    kind: Any = type(value)
    if _is_dataclass(kind):
        return {name: getattr(value, name) for name in _fields(kind)}
    raise TypeError(f"a {kind.__name__} is no value to exchange")


def _decoded(text: bytes) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a number")


def _read(kind: Any, value: Any) -> Any:
    if kind is None or kind is type(None):
        return _plain(type(None), value)
    if kind is float:
        return float(value if type(value) is float else _plain(int, value))
    if kind is bytes:
        return bytes.fromhex(_plain(str, value))
    if kind == Unsigned64:
        return _plain(int, value, UNSIGNED64)
    if kind in PLAIN:
        return _plain(kind, value)
    if origin := typing.get_origin(kind):
        return _read_generic(origin, typing.get_args(kind), value)
    if _is_dataclass(kind):
        fields = _fields(kind)
        if _plain(dict, value).keys() != fields.keys():
            raise ValueError(f"an object that is no {kind}")
        return kind(**{name: _read(fields[name], one) for name, one in value.items()})
    if hasattr(kind, "_fields"):
        return kind(*_read_each(_fields(kind).values(), value))
    return kind(value)


def _read_generic(origin: Any, inner: tuple[Any, ...], value: Any) -> Any:
    if origin in (types.UnionType, typing.Union):
        for one in inner:
            with contextlib.suppress(*WRONG):
                return _read(one, value)
        raise ValueError("none of the forms that it may have")
    if origin in LISTS:
        return [_read(inner[0], one) for one in _plain(list, value)]
    if origin in OBJECTS:
        return {_read(inner[0], name): _read(inner[1], one) for name, one in _plain(dict, value).items()}
    if inner[1:] == (...,):
        return tuple(_read(inner[0], one) for one in _plain(list, value))
    return tuple(_read_each(inner, value))


def _read_each(kinds: Any, value: Any) -> list[Any]:
    return [_read(kind, one) for kind, one in zip(kinds, _plain(list, value), strict=True)]


def _plain(kind: type, value: Any, integers: range = SIGNED64) -> Any:
    if type(value) is not kind:
        raise ValueError(f"no {kind.__name__}")
    if isinstance(value, int) and value not in integers:
        raise ValueError("an integer out of range")
    return value


def _is_dataclass(one: Any) -> bool:
    return hasattr(one, "__dataclass_fields__")


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)
