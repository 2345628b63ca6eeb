# SPDX-License-Identifier: Apache-2.0
"""Text as it is copied out of pages, mails, tickets and logs: without what these put into it and around its lines."""

import html
import re
import textwrap
from collections.abc import Callable, Iterable
from itertools import pairwise

INVISIBLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\[[0-9;]{1,5}m|[\r\u200b-\u200f\u2060\ufeff]")
"""Colours, carriage returns, byte order marks and spaces of no width."""
BLANK = re.compile(r"[\xa0\u2000-\u200a\u202f\u3000]")
ENTITY = re.compile(r"&(?:lt|gt|amp|quot|nbsp|apos|#\d{1,4}|#x[0-9a-fA-F]{1,4});")
BOLD = re.compile(r"(?<![*\w])\*\*([\w.:/-]{1,64})\*\*(?![*\w])")
REMARK = re.compile(r"(?m)(?<=\S)(?:[ \t]+(?:(?:#|//)[ \t]*)?(?:<[-=<]|\u2190).*|[ \t]{2,}(?:#|//)[ \t].*)$")
"""What people write behind a line: `<-- here`, `# why?`."""
FENCE = re.compile(r"(?m)^[ \t>]*(?:```|~~~)[\w+-]*[ \t]*$")
NUMBERED = re.compile(r"\s*(\d{1,6})(?:[:.|)]|[ \t]|$)")
DATE = r"(?:\d{4}-\d\d-\d\d[T ]|[A-Z][a-z]{2} [ \d]\d )\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
PREFIXES = tuple(
    re.compile(one)
    for one in (
        rf"\[?{DATE}\]? ?",  # kubectl logs --timestamps, journalctl, Python's logging
        r"(?:\S{1,64} )?[\w.@/-]{1,64}\[\d{1,9}\]: ",  # journalctl behind its date
        r"[-:|]? ?\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|NOTICE)\]? ?[-:|]? ?",
        r"\[\d{1,9},\d{1,9}\]<std\w{2,4}>:",  # mpirun --tag-output
        r"\[[^\]\n]{1,80}\]:? ?",  # kubectl logs --prefix, [rank0]:
        r"\(\w[^()\n]{0,80}\) ",  # Ray
        r"[>|\u2502*] ?",  # mails, Markdown, docker compose
    )
)
LABEL = re.compile(r"([\w.-]{1,64}): ?")
"""Of srun --label and pdsh: a task's number or a host's name, the same on all lines."""
MOST_OF = 0.8
"""How many of the lines have a prefix that is not of the text itself."""
FEWEST = 2
DEEPEST = 6


def plain_text(data: bytes) -> str:
    """The text, line for line, without colours, invisible characters, entities of HTML, fences, bold and remarks."""
    text = BLANK.sub(" ", INVISIBLE.sub("", data.decode("utf-8", "replace")))
    text = ENTITY.sub(lambda found: html.unescape(found[0]).replace("\xa0", " "), text) if "&" in text else text
    return FENCE.sub("", BOLD.sub(r"\1", REMARK.sub("", text)))


def without_prefixes(text: str) -> str:
    """The text without what stands before nearly all of its lines: dates, labels, numbers, quote marks, indentation."""
    lines = textwrap.dedent(text).split("\n")
    for _ in range(DEEPEST):
        found = next(filter(None, (shorter(lines) for shorter in SHORTER)), None)
        if found is None:
            break
        lines = textwrap.dedent("\n".join(found)).split("\n")
    return "\n".join(lines)


def _without(lines: list[str], prefix: re.Pattern[str]) -> list[str] | None:
    """The lines without a prefix; None if too few have it."""
    full = [line for line in lines if line.strip()]
    enough = len(full) >= FEWEST and sum(1 for line in full if prefix.match(line)) >= MOST_OF * len(full)
    return [prefix.sub("", line, count=1) if prefix.match(line) else line for line in lines] if enough else None


def _without_numbers(lines: list[str]) -> list[str] | None:
    """The lines without their numbers, where each is one more than that of the line before."""
    numbers = [int(found[1]) if (found := NUMBERED.match(line)) else None for line in lines]
    steps = sum(1 for one, other in pairwise(numbers) if one is not None and other == one + 1)
    return _without(lines, NUMBERED) if steps + 1 >= MOST_OF * sum(1 for line in lines if line.strip()) else None


def _without_label(lines: list[str]) -> list[str] | None:
    """The lines without one label that they all have."""
    labels = {found[1] for line in lines if line.strip() and (found := LABEL.match(line))}
    return _without(lines, LABEL) if len(labels) == 1 else None


def _by(prefix: re.Pattern[str]) -> Callable[[list[str]], list[str] | None]:
    return lambda lines: _without(lines, prefix)


SHORTER: Iterable[Callable[[list[str]], list[str] | None]] = (
    _without_numbers,
    *map(_by, PREFIXES),
    _without_label,
)
