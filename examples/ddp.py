# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel on railgauge, on GPUs where there are any, else on CPUs.

torchrun --nproc-per-node 2 examples/ddp.py
NCCL_DEBUG=INFO torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint HOST:29400 examples/ddp.py
"""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import railgauge.torch  # noqa: F401  (it makes the back end known)

STEPS, BATCH, WIDTH, CLASSES = 20, 32, 64, 10


def main() -> None:
    """Train a small network to tell which of ten directions an input points to."""
    dist.init_process_group("railgauge")
    rank = dist.get_rank()
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    torch.manual_seed(0)  # the same network and the same directions on all ranks
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES)).to(device)
    directions = torch.randn(CLASSES, WIDTH, device=device)
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(parallel.parameters(), 3e-3)
    torch.manual_seed(1 + rank)  # and data of its own
    for step in range(STEPS):
        labels = torch.randint(CLASSES, (BATCH,), device=device)
        loss = nn.functional.cross_entropy(parallel(directions[labels]), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        if rank == 0 and step in (0, STEPS - 1):
            print(f"step {step}: loss {mean.item():.3f} on {dist.get_world_size()} ranks, {device.type}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
