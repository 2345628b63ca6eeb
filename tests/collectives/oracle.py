# SPDX-License-Identifier: Apache-2.0
"""Every collective as NumPy does it: what each rank gives and has to get, and one case run and checked on a rank."""

import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Redop
from railgauge.topo.nccl.settings.algorithm import Collective

FP8 = ["float8_e4m3fn", "float8_e5m2"]
DTYPES = ["float16", "bfloat16", *FP8, "float32", "float64", "int8", "uint8", "int32", "uint32", "int64", "uint64"]
COUNTS = [0, 1, 3, 61, 1009, 16411, 70001]
ROOTS = ["first", "last", "middle"]
REDUCING = (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.REDUCE)
SPLIT = (Collective.REDUCE_SCATTER, Collective.ALL_TO_ALL, Collective.SCATTER)
"""Whose source has a part for every rank."""
JOINED = (Collective.ALL_GATHER, Collective.ALL_TO_ALL, Collective.GATHER)
"""Whose destination has a part from every rank."""
ALL_TO_ALL_V = "alltoallv"
DRAWING = threading.Lock()
"""Ranks that are threads of one process draw a case's sources once."""


@dataclass(frozen=True)
class Case:
    """One collective on all ranks."""

    collective: str
    dtype: str
    op: Redop
    count: int
    in_place: bool
    root: str
    guard: int = 5
    """Elements around every buffer that nobody may write; they also decide how it is aligned."""

    def root_of(self, ranks: int) -> int:
        return {"first": 0, "last": ranks - 1, "middle": ranks // 2}[self.root]


def cases(collectives: Iterable[str], seed: int) -> list[Case]:
    """Cases in which every two values of any two parameters come together; the same for one seed."""
    values = [list(collectives), DTYPES, list(Redop), COUNTS, [False, True], ROOTS]
    return [Case(*row) for row in all_pairs(values, random.Random(seed))]


def all_pairs(values: Sequence[Sequence], draw: random.Random) -> Iterator[tuple]:
    """Rows of one of each of `values`, until every pair was in a row: greedily the best of some that are drawn."""
    left = {
        (i, j, a, b)
        for i, j in combinations(range(len(values)), 2)
        for a in range(len(values[i]))
        for b in range(len(values[j]))
    }
    while left:
        i, j, a, b = draw.choice(sorted(left))
        rows = [[draw.randrange(len(one)) for one in values] for _ in range(20)]
        for row in rows:
            row[i], row[j] = a, b
        row = max(rows, key=lambda row: sum(pair in left for pair in pairs_of(row)))
        left.difference_update(pairs_of(row))
        yield tuple(values[at][number] for at, number in enumerate(row))


def pairs_of(row: Sequence[int]) -> list[tuple[int, int, int, int]]:
    return [(i, j, row[i], row[j]) for i, j in combinations(range(len(row)), 2)]


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def given(case: Case, ranks: int, seed: int) -> list[np.ndarray]:
    """Every rank's source, to be read only: small integers, so that every operator is exact in every type and order."""
    with DRAWING:
        return drawn(case, ranks, seed)


@lru_cache(maxsize=2)  # two: no rank begins a case before the others have begun the one before
def drawn(case: Case, ranks: int, seed: int) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    length = case.count * (ranks if case.collective in SPLIT else 1)
    values = (1, 3) if case.op is Redop.PROD else (0, 2) if case.dtype in FP8 else (1, 4)
    if case.collective == ALL_TO_ALL_V:
        arrays = [draw.integers(1, 120, sum(row)).astype(numpy_dtype(case.dtype)) for row in counts_v(case, ranks)]
    else:
        arrays = [draw.integers(*values, length).astype(numpy_dtype(case.dtype)) for _ in range(ranks)]
    for array in arrays:
        array.flags.writeable = False
    return arrays


def counts_v(case: Case, ranks: int) -> list[list[int]]:
    """How many elements each rank has for each in an all-to-all of any lengths; some have none."""
    return [[(case.count * (rank + 2 * peer + 1)) % (case.count + 2) for peer in range(ranks)] for rank in range(ranks)]


def due(case: Case, sources: list[np.ndarray], rank: int) -> np.ndarray | None:
    """What that rank has to get; None for nothing."""
    ranks, count, root = len(sources), case.count, case.root_of(len(sources))
    mine = slice(rank * count, (rank + 1) * count)
    match case.collective:
        case Collective.ALL_REDUCE:
            return reduced(sources, case.op)
        case Collective.REDUCE_SCATTER:
            return reduced([source[mine] for source in sources], case.op)
        case Collective.REDUCE:
            return reduced(sources, case.op) if rank == root else None
        case Collective.BROADCAST:
            return sources[root]
        case Collective.ALL_GATHER:
            return np.concatenate(sources)
        case Collective.GATHER:
            return np.concatenate(sources) if rank == root else None
        case Collective.SCATTER:
            return sources[root][mine]
        case Collective.ALL_TO_ALL:
            return np.concatenate([source[mine] for source in sources])
        case Collective.SEND_RECV:
            return sources[(rank - 1) % ranks]
    counts = counts_v(case, ranks)
    starts = [sum(row[:rank]) for row in counts]
    return np.concatenate([s[at : at + row[rank]] for s, at, row in zip(sources, starts, counts, strict=True)])


def reduced(arrays: list[np.ndarray], op: Redop) -> np.ndarray:
    dtype = arrays[0].dtype
    stack = np.stack([array.astype(np.int64) for array in arrays])
    match op:
        case Redop.SUM:
            result = stack.sum(0)
        case Redop.PROD:
            result = stack.prod(0)
        case Redop.MIN:
            result = stack.min(0)
        case Redop.MAX:
            result = stack.max(0)
        case Redop.AVG if np.issubdtype(dtype, np.integer):
            result = stack.sum(0) // len(arrays)
        case Redop.AVG:
            wide = np.float64 if dtype == np.float64 else np.float32
            return (stack.sum(0).astype(wide) / wide(len(arrays))).astype(dtype)
    return result.astype(dtype)


Lay: TypeAlias = Callable[[np.ndarray], np.ndarray]


def where_it_is(array: np.ndarray) -> np.ndarray:
    return array


def run(comm: Communicator, case: Case, seed: int, lay: Lay = where_it_is) -> None:
    """Run a case on one rank, and check what it wrote and what it left alone; `lay` copies arrays to other memory."""
    begin(comm, case, seed, lay)[1]()


def begin(
    comm: Communicator, case: Case, seed: int, lay: Lay = where_it_is, **how: Any
) -> tuple[Any, Callable[[], None]]:
    """Call a case's collective on one rank; what the call gave, and the check for when it has ended."""
    sources = given(case, comm.size, seed)
    source, want = sources[comm.rank], due(case, sources, comm.rank)
    if case.in_place and case.collective not in (Collective.ALL_TO_ALL, Collective.SEND_RECV, ALL_TO_ALL_V):
        return begin_in_place(comm, case, source, want, lay, **how)
    return begin_out_of_place(comm, case, source, want, lay, **how)


def begin_out_of_place(
    comm: Communicator, case: Case, source: np.ndarray, want: np.ndarray | None, lay: Lay, **how: Any
) -> tuple[Any, Callable[[], None]]:
    inner = slice(case.guard, -case.guard)
    held = lay(guarded(source, case.guard))
    held[inner] = source
    length = len(source) if want is None else len(want)
    into = lay(guarded(np.zeros(length, source.dtype), case.guard))
    expected = into.copy()
    if want is not None:
        expected[inner] = want
    kept = held.copy()
    called = call(comm, case, held[inner], None if want is None and case.count % 2 else into[inner], **how)

    def check() -> None:
        same(held, kept, comm, case, "the source was changed")
        same(into, expected, comm, case, "out of place")

    return called, check


def begin_in_place(
    comm: Communicator, case: Case, source: np.ndarray, want: np.ndarray | None, lay: Lay, **how: Any
) -> tuple[Any, Callable[[], None]]:
    """Source and destination lie where NCCL has them in place; who gets nothing gives nothing to be written."""
    rank, count, is_root = comm.rank, case.count, comm.rank == case.root_of(comm.size)
    joins = case.collective == Collective.ALL_GATHER or (case.collective == Collective.GATHER and is_root)
    splits = case.collective == Collective.REDUCE_SCATTER or (case.collective == Collective.SCATTER and is_root)
    memory = lay(guarded(np.zeros(len(want) if joins else len(source), source.dtype), case.guard))
    inner = memory[case.guard : -case.guard]
    part = inner[rank * count : (rank + 1) * count]
    give, take = (part, inner) if joins else (inner, part) if splits else (inner, inner)
    give[:] = source
    if case.collective == Collective.SCATTER and not is_root:
        give, take = None, inner[:count]
    expected = memory.copy()
    if want is not None and not splits:
        expected[case.guard : case.guard + len(want)] = want
    called = call(comm, case, give, None if want is None else take, **how)

    def check() -> None:
        if splits:
            same(take, want, comm, case, "in place")
            same(memory[: case.guard], expected[: case.guard], comm, case, "before the buffer")
            same(memory[-case.guard :], expected[-case.guard :], comm, case, "behind the buffer")
        else:
            same(memory, expected, comm, case, "in place")

    return called, check


def call(comm: Communicator, case: Case, source: np.ndarray | None, into: np.ndarray | None, **how: Any) -> Any:
    root = case.root_of(comm.size)
    if case.collective == ALL_TO_ALL_V:
        counts = counts_v(case, comm.size)
        return comm.alltoallv(source, counts[comm.rank], into, [row[comm.rank] for row in counts], **how)
    if case.collective == Collective.ALL_REDUCE:
        return comm.all_reduce(source, into, case.op, **how)
    if case.collective == Collective.REDUCE_SCATTER:
        return comm.reduce_scatter(source, into, case.op, **how)
    if case.collective == Collective.REDUCE:
        return comm.reduce(source, into, case.op, root, **how)
    if case.collective in (Collective.BROADCAST, Collective.GATHER, Collective.SCATTER):
        return getattr(comm, case.collective)(source, into, root, **how)
    return getattr(comm, case.collective)(source, into, **how)


def guarded(like: np.ndarray, guard: int) -> np.ndarray:
    """Memory for such an array, poisoned, with room before and behind."""
    return np.full(len(like) + 2 * guard, 77).astype(like.dtype)


def same(got: np.ndarray, want: np.ndarray, comm: Communicator, case: Case, where: str) -> None:
    if got.tobytes() != want.tobytes():
        wrong = np.flatnonzero(got != want)
        raise AssertionError(
            f"rank {comm.rank} of {comm.size}: {case}: {where}: {len(wrong)} wrong, first at {wrong[:1]}: "
            f"{got[wrong[:3]]} for {want[wrong[:3]]}"
        )
