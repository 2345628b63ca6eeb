# SPDX-License-Identifier: Apache-2.0
"""FSDP2 (fully_shard) on railgauge, on GPUs where there are any, else on CPUs.

torchrun --nproc-per-node 2 examples/fsdp2.py
"""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import railgauge.torch  # noqa: F401  (it makes the back end known)

STEPS, BATCH, LENGTH, WIDTH, WORDS, LAYERS = 10, 8, 16, 64, 50, 2


def main() -> None:
    """Train a small transformer, whose parameters are sharded over all ranks, to repeat its input."""
    dist.init_process_group("railgauge")
    rank, kind = dist.get_rank(), "cuda" if torch.cuda.is_available() else "cpu"
    if kind == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    mesh = init_device_mesh(kind, (dist.get_world_size(),))
    torch.manual_seed(0)
    layers = [nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True) for _ in range(LAYERS)]
    model = nn.Sequential(nn.Embedding(WORDS, WIDTH), *layers, nn.Linear(WIDTH, WORDS), nn.LogSoftmax(-1)).to(kind)
    for layer in layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    torch.manual_seed(1 + rank)
    for step in range(STEPS):
        words = torch.randint(WORDS, (BATCH, LENGTH), device=kind)
        loss = nn.functional.nll_loss(model(words).flatten(0, 1), words.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        if rank == 0 and step in (0, STEPS - 1):
            print(f"step {step}: loss {mean.item():.3f} on {dist.get_world_size()} ranks, {kind}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
