# SPDX-License-Identifier: Apache-2.0
"""Times all-reduce called from Python on NumPy arrays: python_calls railgauge|mpi4py COUNT ITERATIONS WARMUP.

The difference to the loop in C of the same library is the cost of the call. Out of place, then in place: warm-up,
barrier, one loop; the slowest rank's mean counts, and every element of one more operation is compared. A rank is a
process: mpi4py's are mpirun's, railgauge's read RANK, WORLD_SIZE and STORE (an init method).
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from benchmarks.host_collectives import data
from benchmarks.host_collectives.collectives import COLLECTIVES


class Library(Protocol):
    """A library, as far as it is called here; without `into`, in place."""

    rank: int
    ranks: int

    def all_reduce(self, source: np.ndarray, into: np.ndarray | None = None) -> object:
        """Sum over all ranks."""

    def barrier(self) -> object:
        """Wait for all ranks."""

    def most(self, number: float) -> float:
        """The largest of all ranks' numbers."""

    def close(self) -> None:
        """Close on all ranks together."""


class Railgauge:
    """railgauge.init_process_group and its communicator."""

    def __init__(self) -> None:
        import railgauge

        rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.group = railgauge.init_process_group(os.environ["STORE"], rank, ranks)
        self.rank, self.ranks = rank, ranks
        self.all_reduce = self.group.communicator.all_reduce
        self.barrier = self.group.barrier

    def most(self, number: float) -> float:
        """The largest of all ranks' numbers."""
        from railgauge.collectives.dtype import Redop

        return float(self.group.communicator.all_reduce(np.array([number]), op=Redop.MAX)[0])

    def close(self) -> None:
        """Close on all ranks together."""
        self.group.close()


class Mpi4py:
    """mpi4py's buffer calls, those with a capital."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self.mpi, self.world = MPI, MPI.COMM_WORLD
        self.rank, self.ranks = self.world.rank, self.world.size
        self.barrier = self.world.Barrier

    def all_reduce(self, source: np.ndarray, into: np.ndarray | None = None) -> None:
        """Sum over all ranks."""
        if into is None:
            self.world.Allreduce(self.mpi.IN_PLACE, source)
        else:
            self.world.Allreduce(source, into)

    def most(self, number: float) -> float:
        """The largest of all ranks' numbers."""
        return float(self.world.allreduce(number, op=self.mpi.MAX))

    def close(self) -> None:
        """MPI ends itself."""


def slowest_us(library: Library, call: Callable[[], object], iterations: int, warmup: int) -> float:
    """The mean time of a call on the slowest rank."""
    for _ in range(warmup):
        call()
    library.barrier()
    begin = time.perf_counter()
    for _ in range(iterations):
        call()
    return library.most((time.perf_counter() - begin) / iterations * 1e6)


def main(name: str, count: int, iterations: int, warmup: int) -> None:
    """What each rank does."""
    library: Library = Railgauge() if name == "railgauge" else Mpi4py()
    what, rank, ranks = COLLECTIVES["all_reduce"], library.rank, library.ranks
    given, got = data.value(rank, np.arange(count)), data.zeros(count)
    apart = slowest_us(library, lambda: library.all_reduce(given, got), iterations, warmup)
    got.fill(np.nan)
    library.all_reduce(given, got)
    bad = data.wrong(got, what, count, rank, ranks)
    got.fill(0)  # sums of zeros stay finite however often they are summed
    in_place = slowest_us(library, lambda: library.all_reduce(got), iterations, warmup)
    got[:] = given
    library.all_reduce(got)
    bad += data.wrong(got, what, count, rank, ranks)
    worst = library.most(bad)
    if rank == 0:
        times = {"out_of_place_us": apart, "in_place_us": in_place}
        print(json.dumps({"ranks": ranks, **times, "wrong": int(worst)}))
    library.close()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
