# SPDX-License-Identifier: Apache-2.0
"""Reads pasted text of `nvidia-smi topo -m`: with tabs, blanks or some of them lost, colours, rows missing.

The format is documented by its own legend only. Older drivers name NIC columns by device (mlx5_0), newer ones by
number with a NIC legend below; affinity columns were added one by one.
"""

import re
from dataclasses import dataclass

from railgauge.topo.errors import InputError

COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[[0-9;]{1,5}m")  # of which copying may lose the first character
COMMAND = re.compile(r"^.{0,200}\btopo +-\w+ +(?=GPU0\b)")  # in the line of its answer
LETTERS = r"(?:NV\d{1,2}|SYS|SOC|NODE|PHB|PXB|PIX|C2C|N/A|X)"
OLD = {"SOC": "SYS"}
"""What drivers of 2016 call it."""
CELLS = re.compile(rf"{LETTERS}+")
NUMBERED = re.compile(r"((?:GPU|NIC|mlx\d_)\d+)+")  # names that a lost tab may have merged
NIC_LINE = re.compile(r"\s*(NIC\d+)\s*:\s*(\S+)")
AFFINITIES = re.compile(r"(CPU)\s+Affinity|(NUMA)\s+Affinity|(GPU)\s+NUMA\s+ID")
AFFINITY_WORDS = ("CPU", "NUMA", "GPU", "Affinity", "ID")
CORES = re.compile(r"\d+[-,]")
LARGEST = 1 << 20  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class SmiMatrix:
    """Letters by (row, column), affinities by row as (CPU, NUMA, GPU NUMA ID), device names by NIC column.

    A missing affinity is ""; rows and cells that were not pasted are absent.
    """

    columns: tuple[str, ...]
    cells: dict[tuple[str, str], str]
    affinities: dict[str, tuple[str, str, str]]
    nics: dict[str, str]


def loads(text: str, name: str | None = None) -> SmiMatrix:
    """Read the matrix; InputError if the text has none."""
    lines = [COMMAND.sub("", COLOUR.sub("", line)).rstrip() for line in text[:LARGEST].splitlines()]
    start = next((i for i, line in enumerate(lines) if _is_header(line)), None)
    if start is None:
        raise InputError("no header line GPU0 ...: expected the output of nvidia-smi topo -m", name)
    columns, heads = _columns(lines[start]), [found.lastindex or 0 for found in AFFINITIES.finditer(lines[start])]
    cells: dict[tuple[str, str], str] = {}
    affinities: dict[str, tuple[str, str, str]] = {}
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if _is_header(line):
            break  # a second matrix, such as that of topo -p2p
        row, letters, rest = _row(line, columns, name, number)
        if row:
            cells |= {(row, column): letter for column, letter in zip(columns, letters, strict=False)}
            affinities[row] = _affinities(rest, heads)
    if not cells:
        raise InputError(f"has a header line but no row of {columns[0]}: nothing to compare", name, start + 1)
    nics = {found[1]: found[2] for line in lines[start + 1 :] if (found := NIC_LINE.match(line))}
    whole = {row: (_whole(cpus, affinities), numa, gpu) for row, (cpus, numa, gpu) in affinities.items()}
    return SmiMatrix(columns=columns, cells=cells, affinities=whole, nics=nics)


def _whole(cpus: str, affinities: dict[str, tuple[str, str, str]]) -> str:
    """The cores of a row; where they are cut off those of another row that begin so."""
    if not cpus.endswith((",", "-")):
        return cpus
    return next((other for other, _, _ in affinities.values() if other != cpus and other.startswith(cpus)), "")


def has_matrix(text: str) -> bool:
    """Whether the text has a header and a row of the matrix; that of topo -p2p has other letters beside X."""
    try:
        found = loads(text)
    except InputError:
        return False
    return len(found.columns) == 1 or any(letter != "X" for letter in found.cells.values())


def _is_header(line: str) -> bool:
    words = line.split()
    return bool(words) and words[0].startswith("GPU0") and not (len(words) > 1 and CELLS.fullmatch(words[1]))


def _columns(line: str) -> tuple[str, ...]:
    """The names of the columns, affinities left out."""
    words = AFFINITIES.sub(" ", line).split()
    return tuple(name for word in words if word not in AFFINITY_WORDS for name in _names(word))


def _names(word: str) -> list[str]:
    return re.findall(r"(?:GPU|NIC|mlx\d_)\d+", word) if NUMBERED.fullmatch(word) else [word]


def _row(line: str, columns: tuple[str, ...], name: str | None, number: int) -> tuple[str | None, list[str], list[str]]:
    """(row, letters, words of affinities) of a line, (None, ...) if it is not a row."""
    words = line.split()
    if len(words) < 2 or words[0] not in columns or not CELLS.fullmatch(words[1]):
        return None, [], []
    letters: list[str] = []
    rest = words[1:]
    while rest and len(letters) < len(columns) and CELLS.fullmatch(rest[0]):
        letters += (OLD.get(one, one) for one in re.findall(LETTERS, rest.pop(0)))
    if len(letters) > len(columns):
        raise InputError(f"row {words[0]} has {len(letters)} cells for {len(columns)} columns", name, number)
    return words[0], letters, rest


def _affinities(words: list[str], heads: list[int]) -> tuple[str, str, str]:
    """The words of a row below their heads (1 CPU, 2 NUMA, 3 GPU NUMA ID).

    Drivers leave cells empty from the left: the words are the last ones, unless the first is a list of cores.
    """
    heads = heads or [1, 2, 3]
    missing = max(0, len(heads) - len(words))
    if missing and words and CORES.match(words[0]):
        return _affinities([words[0], *[""] * missing, *words[1:]], heads)
    found = dict(zip(heads[missing:], words, strict=False))
    return found.get(1, ""), found.get(2, ""), found.get(3, "")
