# SPDX-License-Identifier: Apache-2.0
"""One rank of benchmarks.torch on GPUs: steps of training over railgauge and over NCCL, in turns in one process, since
steps of equal processes differ by more than the back ends do; rank 0 prints JSON, by back end.
"""

import functools
import json
import os
import statistics
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import railgauge.torch  # noqa: F401

BACKENDS = ("railgauge", "nccl")
WIDTH, LAYERS, HEADS, LENGTH, BATCH = 1024, 8, 16, 512, 8
"""A transformer of 101 million parameters, in bfloat16."""
ROUNDS, STEPS = 24, 3
"""Rounds of each back end, and steps of a round; the first two rounds are not counted."""


def main() -> None:
    """Measure everything once."""
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group(BACKENDS[0])
    groups = {BACKENDS[0]: dist.group.WORLD, BACKENDS[1]: dist.new_group(backend=BACKENDS[1])}
    found: dict[str, dict[str, float]] = {name: {} for name in BACKENDS}
    for what, spread in (("ddp_step_ms", replicated), ("fsdp2_step_ms", sharded)):
        runs = {name: step(functools.partial(spread, group)) for name, group in groups.items()}
        took: dict[str, list[float]] = {name: [] for name in BACKENDS}
        for number in range(ROUNDS + 2):
            for name in BACKENDS[:: 1 if number % 2 else -1]:
                ms = of_a_step(runs[name])
                if number >= 2:
                    took[name].append(ms)
        for name in BACKENDS:
            found[name][what] = statistics.median(took[name])
    if rank == 0:
        print(json.dumps(found))
    dist.barrier()
    torch.cuda.synchronize()
    dist.destroy_process_group()


def of_a_step(run: Callable[[], None]) -> float:
    """Milliseconds of a step, in a round that all ranks begin together."""
    dist.barrier()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(STEPS):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / STEPS * 1e3


def replicated(group: dist.ProcessGroup, model: nn.Sequential) -> nn.Module:
    """The model in DistributedDataParallel."""
    return DistributedDataParallel(model, device_ids=[torch.cuda.current_device()], process_group=group)


def sharded(group: dist.ProcessGroup, model: nn.Sequential) -> nn.Module:
    """The model with its parameters sharded over all ranks, layer by layer."""
    mesh = DeviceMesh.from_group(group, "cuda")
    for one in (*model, model):
        fully_shard(one, mesh=mesh)
    return model


def step(spread: Callable[[nn.Sequential], nn.Module]) -> Callable[[], None]:
    """A training step of the transformer, spread over the ranks, with overlap."""
    torch.manual_seed(0)
    layers = (nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True) for _ in range(LAYERS))
    model = spread(nn.Sequential(*layers).to("cuda", torch.bfloat16))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    data = torch.randn(BATCH, LENGTH, WIDTH, device="cuda", dtype=torch.bfloat16)

    def run() -> None:
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()

    return run


if __name__ == "__main__":
    main()
