# SPDX-License-Identifier: Apache-2.0
"""Times a collective of torch.distributed over Gloo: gloo_collectives COLLECTIVE COUNT ITERATIONS WARMUP.

torch has each collective in one placement only. Warm-up, barrier, one loop; the slowest rank's mean counts. One more
operation on fresh data is then compared, every element on every rank. Runs in torch's own environment, a process a
rank; RANK, WORLD_SIZE and STORE (an init method) say who is who.
"""

import json
import os
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.distributed as dist
from benchmarks.host_collectives import data
from benchmarks.host_collectives.collectives import COLLECTIVES, ROOT, Collective

IN_PLACE = ("all_reduce", "broadcast", "reduce")


def operation(what: Collective, given: torch.Tensor, got: torch.Tensor, rank: int, ranks: int) -> Callable[[], object]:
    """The call that is timed; its lists of pieces are views, made once."""
    if what.name in IN_PLACE:
        call = {"all_reduce": dist.all_reduce, "broadcast": dist.broadcast, "reduce": dist.reduce}[what.name]
        return (lambda: call(given)) if what.name == "all_reduce" else (lambda: call(given, ROOT))
    if what.name == "gather":
        pieces = list(got.chunk(ranks)) if rank == ROOT else None
        return lambda: dist.gather(given, pieces, ROOT)
    if what.name == "scatter":
        pieces = list(given.chunk(ranks)) if rank == ROOT else None
        return lambda: dist.scatter(got, pieces, ROOT)
    calls = {
        "all_gather": dist.all_gather_into_tensor,
        "reduce_scatter": dist.reduce_scatter_tensor,
        "alltoall": dist.all_to_all_single,
    }
    call = calls[what.name]
    return lambda: call(got, given)


def buffers(what: Collective, count: int, rank: int, ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """Input and output, the same array where torch has the collective in place."""
    if what.name in IN_PLACE:
        both = data.zeros(count)
        return both, both
    return (
        data.zeros(data.input_size(what, count, rank, ranks)),
        data.zeros(data.output_size(what, count, rank, ranks)),
    )


def main(name: str, count: int, iterations: int, warmup: int) -> int:
    """What each rank does."""
    torch.set_num_threads(1)
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=os.environ["STORE"], rank=rank, world_size=ranks)
    what = COLLECTIVES[name]
    given, got = buffers(what, count, rank, ranks)
    call = operation(what, torch.from_numpy(given), torch.from_numpy(got), rank, ranks)
    try:
        call()
    except (RuntimeError, NotImplementedError) as error:
        print(f"no collective {name} in the Gloo of torch {torch.__version__}: {error}", file=sys.stderr)
        return 1
    for _ in range(warmup):
        call()  # sums of zeros stay finite however often they are summed
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(iterations):
        call()
    slowest = torch.tensor([(time.perf_counter() - begin) / iterations * 1e6], dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    if given is not got:
        got.fill(np.nan)
    size = data.input_size(what, count, rank, ranks)
    given[:size] = data.value(rank, np.arange(size))
    call()
    wrong = torch.tensor([data.wrong(got, what, count, rank, ranks)])
    dist.all_reduce(wrong)
    if rank == 0:
        place = "in_place_us" if name in IN_PLACE else "out_of_place_us"
        times = {"out_of_place_us": None, "in_place_us": None, place: slowest.item()}
        print(json.dumps({"ranks": ranks, **times, "wrong": wrong.item()}))
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
