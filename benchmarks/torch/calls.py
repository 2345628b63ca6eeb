# SPDX-License-Identifier: Apache-2.0
"""How long a rank's CPU takes to call a collective on a GPU tensor through torch.distributed.

    torchrun --nproc-per-node 1 -m benchmarks.torch.calls railgauge|nccl

Prints a JSON line for each kind of call: the microseconds a call of each of fifteen rounds of 300 calls, between which
the GPU does what was called. One rank is enough: what it takes to call does not depend on the others.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

ELEMENTS = 1024
AHEAD, ROUNDS, CALLS = 2, 15, 300


def main(backend: str) -> None:
    """Measure the four kinds."""
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if backend == "railgauge":
        import railgauge.torch  # noqa: F401
    dist.init_process_group(backend)
    data, gathered = (torch.ones(ELEMENTS, device="cuda") for _ in range(2))
    kinds: dict[str, Callable[[], Any]] = {
        "all_reduce": lambda: dist.all_reduce(data),
        "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(gathered, data),
        "all_reduce, async_op": lambda: dist.all_reduce(data, async_op=True),
        "all_reduce, async_op, wait": lambda: dist.all_reduce(data, async_op=True).wait(),
    }
    for name, call in kinds.items():
        print(json.dumps({"backend": backend, "call": name, "us": timed(call)}))
    dist.destroy_process_group()


def timed(call: Callable[[], Any]) -> list[float]:
    """Microseconds a call, of each round."""
    found = []
    for _ in range(AHEAD + ROUNDS):
        began = time.perf_counter()
        for _ in range(CALLS):
            call()
        found.append((time.perf_counter() - began) / CALLS * 1e6)
        torch.cuda.synchronize()
    return found[AHEAD:]


if __name__ == "__main__":
    main(sys.argv[1])
