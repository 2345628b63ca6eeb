# SPDX-License-Identifier: Apache-2.0
"""The parts of a large JSON document, one at a time and in bounded memory: the members of its top-level object, with
the elements of a list one by one; or the elements of its top-level list.
"""

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from railgauge.topo.errors import InputError

MOST_OF_ONE = 16 << 20
"""Characters of one part."""
SPACE = re.compile(r"[ \t\r\n]*")
ENDS = tuple(",]}: \t\r\n")
"""What may follow a value."""
NOT_FINITE = None
"""What stands for NaN and Infinity, which JSON has not and profilers write."""


def json_items(blocks: Iterable[bytes], path: str) -> Iterator[tuple[str, Any]]:
    """Key and value of each part; the key of an element is that of its list, "" in a top-level list.

    Raises:
        InputError: not JSON, cut off, nested too deeply, or a part is larger than MOST_OF_ONE.
    """
    text = _Text(blocks, path)
    match text.taken("{["):
        case "{":
            yield from _members(text)
        case "[":
            yield from (("", value) for value in _elements(text))
        case _:
            raise text.error("expected { or [")


def _members(text: "_Text") -> Iterator[tuple[str, Any]]:
    if text.taken("}"):
        return
    while True:
        key = text.value()
        if not isinstance(key, str) or not text.taken(":"):
            raise text.error("expected a name and a colon")
        if text.taken("["):
            yield from ((key, value) for value in _elements(text))
        else:
            yield key, text.value()
        if not text.taken(","):
            break
    if not text.taken("}"):
        raise text.error("expected , or }")


def _elements(text: "_Text") -> Iterator[Any]:
    if text.taken("]"):
        return
    while True:
        yield text.value()
        if not text.taken(","):
            break
    if not text.taken("]"):
        raise text.error("expected , or ]")


class _Text:
    """The text from where it is read on, as much of it as the next part needs."""

    def __init__(self, blocks: Iterable[bytes], path: str) -> None:
        self._blocks, self._path = iter(blocks), path
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._read = json.JSONDecoder(parse_constant=lambda _: NOT_FINITE).raw_decode
        self._text, self._at, self._whole = "", 0, False

    def taken(self, wanted: str) -> str:
        """The next character that is no space, if it is one of those wanted; else "", and it stays."""
        while True:
            found = SPACE.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text) or not self._more():
                break
        character = self._text[self._at : self._at + 1]
        if not character or character not in wanted:
            return ""
        self._at += 1
        return character

    def value(self) -> Any:
        """The next value."""
        self.taken("")
        while True:
            try:
                value, end = self._read(self._text, self._at)
            except RecursionError:
                raise self.error("nested too deeply") from None
            except ValueError:
                if not self._more():
                    raise self.error("a value is not JSON") from None
                continue
            if self._text[end : end + 1] in ENDS or not self._more():  # a number may go on
                self._at = end
                return value

    def error(self, why: str) -> InputError:
        """For what is read here."""
        what = "cut off" if self._whole and self._at >= len(self._text) else why
        return InputError(f"damaged or cut off JSON: {what}", self._path)

    def _more(self) -> bool:
        """Read at least as much again as is left, so that a large part is not parsed often; False at the end."""
        left = len(self._text) - self._at
        if left > MOST_OF_ONE:
            raise InputError(f"a part of it has more than {MOST_OF_ONE >> 20} MiB", self._path)
        parts: list[str] = []
        wanted = max(left, 1)
        while wanted > 0 and not self._whole:
            block = next(self._blocks, None)
            self._whole = block is None
            parts.append(self._decode(block or b"", self._whole))
            wanted -= len(parts[-1])
        if not any(parts):
            return False
        self._text, self._at = "".join((self._text[self._at :], *parts)), 0
        return True
