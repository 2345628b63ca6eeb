# SPDX-License-Identifier: Apache-2.0
"""NCCL plain, registered and symmetric beside ours with many grids: what is to be beaten, and how."""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

sys.path.insert(0, os.path.dirname(__file__))
from trial import graphed, timed

from railgauge._native.collectives import GpuEngine


def main(rank, n):
    torch.cuda.set_device(rank)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29512", NCCL_NVLS_ENABLE="0")
    dist.init_process_group("nccl", rank=rank, world_size=n, device_id=torch.device("cuda", rank))
    eng = GpuEngine(rank, rank, n, 20.0)
    lent = [None] * n
    dist.all_gather_object(lent, eng.lent)
    eng.connect(lent)
    backend = dist.group.WORLD._get_backend(torch.device("cuda", rank))
    plain = torch.zeros(1 << 28, device="cuda")
    others = {"plain": plain}
    for name, symm in (("registered", False), ("symmetric", True)):
        try:
            pool = torch.cuda.MemPool(backend.mem_allocator)
            with torch.cuda.use_mem_pool(pool):
                others[name] = torch.zeros(1 << 28, device="cuda")
            backend.register_mem_pool(pool, symm=symm) if symm else backend.register_mem_pool(pool)
        except Exception as error:
            others.pop(name, None)
            if rank == 0:
                print("#", name, type(error).__name__, error, flush=True)
    x = torch.zeros(1 << 28, device="cuda"); o = torch.empty_like(x)
    now = lambda: torch.cuda.current_stream().cuda_stream
    for e in (1, 13, 15, 16, 17, 18, 19, 20, 21, 22, 23, 25):
        count, size = 1 << e, 4 << e
        times = 200 if size < 1 << 20 else 20
        small = size <= 1 << 23
        run = (lambda call: graphed(call, 100)) if small else (lambda call: timed(call, times))
        line = f"{size:>11} {'graph' if small else 'stream'}"
        for name, array in others.items():
            view = array[:count]
            try:
                both = [min(timed(lambda: dist.all_reduce(view), times) for _ in range(3)), min(run(lambda: dist.all_reduce(view)) for _ in range(3))]
                line += f" {name} {both[0]:.1f}/{both[1]:.1f}"
            except Exception as error:
                line += f" {name} {type(error).__name__}"
        def ours(way=-1, b=0, c=0, out=o):
            eng.run(0, x.data_ptr(), out.data_ptr(), count, 2, 0, 0, now(), way, b, c)
        line += f" | auto {min(timed(ours, times) for _ in range(3)):.1f}/{min(run(ours) for _ in range(3)):.1f} in place {min(run(lambda: ours(out=x)) for _ in range(2)):.1f}"
        found = []
        for b in (1, 2, 4, 8, 16, 32, 64, 96, 128):
            if size / b <= 8192:
                found.append((min(run(lambda: ours(0, b)) for _ in range(2)), f"LL{b}"))
        if size >= 1 << 18:
            for b in (16, 32, 48, 64, 96, 128):
                for c in (4, 8, 16, 32, 64):
                    if (size / n / b) / (c << 10) < 80 and (size / n / b) * 2 > (c << 10):
                        found.append((run(lambda: ours(1, b, c << 10)), f"P{b}x{c}K"))
        if size / n <= (80 << 10) / n * 120:
            for b in (8, 16, 32, 64, 96, 132):
                found.append((min(run(lambda: ours(2, b)) for _ in range(2)), f"F{b}"))
        found.sort()
        line += " | " + " ".join(f"{name}:{us:.1f}" for us, name in found[:8])
        eng.synchronize(now())
        if rank == 0:
            print(line, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    n = torch.cuda.device_count()
    mp.spawn(main, (n,), n)
