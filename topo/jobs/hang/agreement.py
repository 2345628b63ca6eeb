# SPDX-License-Identifier: Apache-2.0
"""The properties of an operation that must be equal on all ranks, and where they differ.

Counts are compared where NCCL needs equal ones, in elements: PyTorch's own analyser (torch.distributed.flight_recorder,
`Op.match`) compares shapes, and calls [4, 2] beside [8] a mismatch, which NCCL cannot see.
"""

import math
from typing import Any

from railgauge.topo.jobs.hang.model import Call, Lane, named
from railgauge.topo.values.printable import one_line

INPUT, OUTPUT = "input", "output"
SIDES = {
    "all_reduce": INPUT,
    "allreduce_coalesced": INPUT,
    "broadcast": INPUT,
    "_broadcast_oop": OUTPUT,
    "reduce": INPUT,
    "_reduce_oop": INPUT,
    "_all_gather_base": INPUT,
    "all_gather_into_tensor_coalesced": INPUT,
    "_reduce_scatter_base": OUTPUT,
    "reduce_scatter_tensor_coalesced": OUTPUT,
    "all_gather": OUTPUT,  # inputs may differ in size
    "reduce_scatter": INPUT,
    "gather": INPUT,
    "scatter": OUTPUT,
    "send": INPUT,
    "recv": OUTPUT,
}
"""The tensors of PyTorch's operations that must have the same number of elements and the same type on all ranks."""
FIELDS = ("operations", "counts", "types", "operators", "roots", "parts")
MOST_DIMENSIONS = 64
"""What PyTorch's own tensors may have."""


def agreed(name: str, told: dict[str, Any]) -> tuple[int | None, str, tuple[str, ...]]:
    """Elements and type of a flight recorder's entry, if they must be equal on all ranks, and those of each of its
    tensors if it has several.
    """
    side = SIDES.get(name)
    if side is None:
        return None, "", ()
    listed = told.get(f"{side}_dtypes", ())
    types = [plain(one) for one in ((listed,) if isinstance(listed, str) else listed)]
    sizes = [elements_of(size) for size in told[f"{side}_sizes"]]
    of = types if len(types) == len(sizes) else ["/".join(sorted(set(types)))] * len(sizes)
    parts = tuple(f"{size} {dtype}".rstrip() for size, dtype in zip(sizes, of, strict=True))
    return sum(sizes), "/".join(sorted(set(types))), parts if len(parts) > 1 else ()


def plain(text: Any) -> str:
    """A text of a dump, fit to be printed; TypeError if it is not a text."""
    if not isinstance(text, str):
        raise TypeError(f"{type(text).__name__} in place of a text")
    return one_line(text)


def elements_of(size: list[int]) -> int:
    """The elements of a tensor of this shape; ValueError if no tensor has it."""
    if len(size) > MOST_DIMENSIONS:
        raise ValueError(f"a tensor of {len(size)} dimensions")
    return math.prod(int(extent) for extent in size)


Terms = tuple[str, int | None, str, str, int | None, tuple[str, ...]]
MOST_PARTS = 4
"""Parts of an operation that are in a message, from the first that differs on."""


def parting(lane: Lane, last: int | None) -> tuple[int, dict[Terms, list[int]]] | None:
    """The first operation that ranks called differently, and who called what; None without one.

    last: look no further than this one. Of those that are over on all ranks only the kind is compared: sizes that do
    not go together and did no harm are not what holds the job up.
    """
    numbers = sorted({number for track in lane.tracks.values() for number in track.calls})
    for number in numbers:
        if last is not None and number > last:
            return None
        calls = {rank: track.calls[number] for rank, track in lane.tracks.items() if number in track.calls}
        over = all((track.completed or 0) >= number for track in lane.tracks.values())
        by_terms: dict[Terms, list[int]] = {}
        for rank, call in sorted(calls.items()):
            by_terms.setdefault(_terms(call, lane, whole=not over), []).append(rank)
        if len(by_terms) > 1 and differing(by_terms):
            return number, by_terms
    return None


def _terms(call: Call, lane: Lane, *, whole: bool) -> Terms:
    name = "" if lane.peers else call.name
    return (
        (name, call.elements, call.dtype, call.op, call.root, call.parts) if whole else (name, None, "", "", None, ())
    )


def differing(by_terms: dict[Terms, list[int]]) -> tuple[str, ...]:
    """Which terms differ; if it is the operation, the rest does not matter. An unknown term is no difference."""
    columns = zip(FIELDS, zip(*by_terms, strict=True), strict=True)
    different = tuple(name for name, values in columns if len(set(values) - {None, "", ()}) > 1)
    return different[:1] if different[:1] == FIELDS[:1] else different


def told_apart(by_terms: dict[Terms, list[int]]) -> str:
    """`rank 7 called all_reduce of 512 float; ranks 0-6 called ...: counts differ`; the ones that deviate first."""
    ordered = sorted(by_terms.items(), key=lambda one: (len(one[1]), one[1]))
    parts = [terms[-1] for terms in by_terms]
    columns = enumerate(zip(*parts, strict=False))
    first = next((number for number, column in columns if len(set(column)) > 1), min(map(len, parts)))
    who = [f"{named(ranks)} called {describe(terms, first)}" for terms, ranks in ordered]
    return f"{'; '.join(who)}: {' and '.join(differing(by_terms))} differ"


def describe(terms: Terms, first: int | None = None) -> str:
    """`all_reduce of 1024 float, sum, root 0`; first: with its parts, from that one on."""
    name, count, dtype, op, root, parts = terms
    amount = f"of {count} {dtype}".rstrip() if count is not None else ""
    more = "".join(f", {each}" for each in (op, f"root {root}" if root is not None else "") if each)
    said = f"{name or 'it'} {amount}".rstrip() + more
    if first is None or not parts:
        return said
    some = ", ".join(f"#{number} {part}" for number, part in enumerate(parts[first : first + MOST_PARTS], first + 1))
    return f"{said} with {len(parts)} parts{f' ({some})' if some else ''}"
