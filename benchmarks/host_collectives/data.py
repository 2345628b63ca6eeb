# SPDX-License-Identifier: Apache-2.0
"""The data of the programs in Python, as in mpi_collectives.c: inputs and expected results."""

import os

import numpy as np
from benchmarks.host_collectives.collectives import ROOT, Collective

PERIOD = 251


def value(rank: int | np.ndarray, index: np.ndarray) -> np.ndarray:
    """What a rank contributes at these places: small integers, so that sums are exact and no neighbours are equal."""
    return ((index + 17 * rank) % PERIOD + 1).astype(np.float32)


def zeros(size: int) -> np.ndarray:
    """An array whose pages are there; numpy's large arrays lie on huge pages."""
    array = np.empty(size, dtype=np.float32)
    array.fill(0)
    return array


def input_size(what: Collective, count: int, rank: int, ranks: int) -> int:
    """How many elements a rank sends."""
    if what.input_at_root and rank != ROOT:
        return 0
    return count * ranks if what.input_per_rank else count


def output_size(what: Collective, count: int, rank: int, ranks: int) -> int:
    """How many elements a rank receives."""
    if what.output_at_root and rank != ROOT:
        return 0
    return count * ranks if what.output_per_rank else count


def expected(what: Collective, count: int, rank: int, ranks: int) -> np.ndarray:
    """A rank's expected result."""
    place = np.arange(output_size(what, count, rank, ranks))
    at = place % count + (rank * count if what.input_per_rank else 0)
    if what.sums:
        return sum((value(r, at) for r in range(ranks)), np.zeros(len(at), dtype=np.float32))
    source = place // count if what.output_per_rank else np.full_like(place, ROOT)
    return value(source, at)


def wrong(got: np.ndarray, what: Collective, count: int, rank: int, ranks: int) -> int:
    """How many elements are not as expected; BENCH_FLIP in the environment damages one before."""
    result = got[: output_size(what, count, rank, ranks)]
    if len(result) and "BENCH_FLIP" in os.environ:
        result[-1] += 1
    return int((result != expected(what, count, rank, ranks)).sum())
