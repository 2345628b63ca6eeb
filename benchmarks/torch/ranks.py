# SPDX-License-Identifier: Apache-2.0
"""One rank of benchmarks.torch: measures a back end through torch.distributed; rank 0 prints JSON."""

import functools
import json
import statistics
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SIZES = {8: 200, 1 << 10: 200, 64 << 10: 100, 1 << 20: 20, 16 << 20: 4}
"""Bytes of an all_reduce, and how many are timed together."""
ROUNDS = 7
WIDTH, LAYERS, BATCH = 1024, 8, 4
"""A network of 8.4 million parameters."""


def main(backend: str) -> None:
    """Measure everything once."""
    torch.set_num_threads(1)
    if backend == "railgauge":
        import railgauge.torch  # noqa: F401
    began = time.perf_counter()
    dist.init_process_group(backend)
    dist.barrier()
    found = {"start_ms": (time.perf_counter() - began) * 1e3}
    found["new_group_ms"] = seconds(dist.new_group, 1) * 1e3
    for size, times in SIZES.items():
        data = torch.ones(size // 4)
        found[f"all_reduce_{size}_us"] = seconds(functools.partial(dist.all_reduce, data), times) * 1e6
    found["ddp_step_ms"] = seconds(step_of_ddp(), 1) * 1e3
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


def seconds(run: Callable[[], object], times: int, settle: Callable[[], None] = lambda: None) -> float:
    """The median of a few rounds, which all ranks begin together; `settle` returns when all that was run is done."""
    run()
    took = []
    for _ in range(ROUNDS):
        settle()
        dist.barrier()
        settle()
        began = time.perf_counter()
        for _ in range(times):
            run()
        settle()
        took.append((time.perf_counter() - began) / times)
    return statistics.median(took)


def step_of_ddp() -> Callable[[], None]:
    """A training step."""
    model = DistributedDataParallel(nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    data = torch.randn(BATCH, WIDTH)

    def step() -> None:
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    main(sys.argv[1])
