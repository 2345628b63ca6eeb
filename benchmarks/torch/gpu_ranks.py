# SPDX-License-Identifier: Apache-2.0
"""One rank of benchmarks.torch on GPUs: measures a back end through torch.distributed; rank 0 prints JSON."""

import functools
import json
import os
import sys
from collections.abc import Callable

import torch
import torch.distributed as dist
from benchmarks.torch.ranks import seconds
from torch import nn

SIZES = {8: 200, 1 << 10: 200, 32 << 10: 200, 256 << 10: 200, 1 << 20: 100, 16 << 20: 30, 256 << 20: 5}
"""Bytes of an all_reduce, and how many are timed together."""
DECODE_WIDTH, DECODE_INNER, DECODE_LAYERS, DECODE_BATCH = 4096, 11008, 16, 8
"""Half of the layers of a model of 7 billion parameters, for a token of each of so many sequences."""


def main(backend: str) -> None:
    """Measure everything once."""
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    if backend == "railgauge":
        import railgauge.torch  # noqa: F401
    dist.init_process_group(backend)
    found: dict[str, float] = {}
    timed = functools.partial(seconds, settle=torch.cuda.synchronize)
    for size, times in SIZES.items():
        data = torch.ones(size // 4, device="cuda")
        run = functools.partial(dist.all_reduce, data)
        found[f"all_reduce_{size}_us"] = timed(run, times) * 1e6
        found[f"all_reduce_{size}_in_graph_us"] = timed(captured(run, times).replay, 1) / times * 1e6
    with torch.inference_mode():
        found["decode_step_ms"] = timed(captured(decode(), 1).replay, 20) * 1e3
    torch.cuda.synchronize()
    if rank == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


def captured(run: Callable[[], object], times: int) -> torch.cuda.CUDAGraph:
    """A CUDA graph of so many runs."""
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            run()
    return graph


def decode() -> Callable[[], None]:
    """The matrix products of a token's step through the layers, each divided among the ranks, with two sums a layer."""
    ranks = dist.get_world_size()
    make = functools.partial(torch.randn, device="cuda", dtype=torch.bfloat16)
    inner = DECODE_INNER // ranks
    shapes = [(DECODE_WIDTH, 3 * DECODE_WIDTH // ranks), (DECODE_WIDTH // ranks, DECODE_WIDTH)]
    shapes += [(DECODE_WIDTH, 2 * inner), (inner, DECODE_WIDTH)]
    layers = [[make(*shape) * 0.01 for shape in shapes] for _ in range(DECODE_LAYERS)]
    token = make(DECODE_BATCH, DECODE_WIDTH)

    def run() -> None:
        x = token
        for qkv, out, up, down in layers:
            attended = (x @ qkv)[:, : DECODE_WIDTH // ranks] @ out
            dist.all_reduce(attended)
            gate, value = ((x + attended) @ up).chunk(2, -1)
            added = (nn.functional.silu(gate) * value) @ down
            dist.all_reduce(added)
            x = x + attended + added

    return run


if __name__ == "__main__":
    main(sys.argv[1])
