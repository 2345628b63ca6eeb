# SPDX-License-Identifier: Apache-2.0
"""Ten matrix products beside forty all_reduces of 64 MiB on another stream, between two GPUs.

    [NCCL_MAX_CTAS=N] torchrun --nproc-per-node 2 -m benchmarks.torch.overlap railgauge|nccl

Rank 0 prints a JSON line for the products alone, the all_reduces alone, and both, put on their streams in either order:
the milliseconds of each of seven turns.
"""

import json
import os
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

SIDE, PRODUCTS = 8192, 10
ELEMENTS, SUMS = 16 << 20, 40
AHEAD, TURNS = 2, 7


def main(backend: str) -> None:
    """Measure the four."""
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    if backend == "railgauge":
        import railgauge.torch  # noqa: F401
    dist.init_process_group(backend)
    left, right = (torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product, data = torch.empty_like(left), torch.ones(ELEMENTS, device="cuda")
    beside = torch.cuda.Stream()

    def products() -> None:
        for _ in range(PRODUCTS):
            torch.mm(left, right, out=product)

    def sums() -> None:
        with torch.cuda.stream(beside):
            for _ in range(SUMS):
                dist.all_reduce(data)

    for what in ((products,), (sums,), (sums, products), (products, sums)):
        times = timed(what, beside)
        if rank == 0:
            limit = os.environ.get("NCCL_MAX_CTAS")
            names = [one.__name__ for one in what]
            print(json.dumps({"backend": backend, "max_ctas": limit and int(limit), "what": names, "ms": times}))
    dist.barrier()
    dist.destroy_process_group()


def timed(what: tuple[Callable[[], None], ...], beside: torch.cuda.Stream) -> list[float]:
    """Milliseconds of each turn, from a barrier until the GPU has done all."""
    found = []
    for _ in range(AHEAD + TURNS):
        dist.barrier()
        torch.cuda.synchronize()
        began = time.perf_counter()
        beside.wait_stream(torch.cuda.current_stream())
        for one in what:
            one()
        torch.cuda.synchronize()
        found.append((time.perf_counter() - began) * 1e3)
    return found[AHEAD:]


if __name__ == "__main__":
    main(sys.argv[1])
