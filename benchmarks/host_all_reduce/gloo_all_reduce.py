# SPDX-License-Identifier: Apache-2.0
"""Times torch.distributed.all_reduce over Gloo: gloo_all_reduce.py BYTES ITERATIONS WARMUP RANKS.

torch has this collective in place only. Warm-up, barrier, one loop; the slowest rank's mean counts. One more operation
on fresh data is then compared with the expected sum, every element on every rank. Runs in torch's own environment.
"""

import json
import os
import subprocess
import sys
import tempfile
import time


def start(arguments: list[str]) -> int:
    """Start the ranks as processes of this program; rank 0 prints the result."""
    ranks = int(arguments[3])
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(ranks):
            env = os.environ | {"RANK": str(rank), "STORE": f"file://{folder}/store", "GLOO_SOCKET_IFNAME": "lo"}
            children.append(subprocess.Popen([sys.executable, __file__, *arguments], env=env))
        return max(child.wait() != 0 for child in children)


def rank_main(rank: int, size: int, iterations: int, warmup: int, ranks: int) -> None:
    """What each rank does."""
    import numpy as np
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=os.environ["STORE"], rank=rank, world_size=ranks)
    index = np.arange(size // 4)
    fresh = [((index + 17 * r) % 251 + 1).astype(np.float32) for r in range(ranks)]
    data = np.zeros(size // 4, dtype=np.float32)  # numpy's large arrays lie on huge pages
    data.fill(0)
    tensor = torch.from_numpy(data)  # sums of zeros stay finite however often they are summed
    for _ in range(warmup):
        dist.all_reduce(tensor)
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(iterations):
        dist.all_reduce(tensor)
    slowest = torch.tensor([(time.perf_counter() - begin) / iterations * 1e6], dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    data[:] = fresh[rank]
    dist.all_reduce(tensor)
    wrong = torch.tensor([int((data != sum(fresh)).sum())])
    dist.all_reduce(wrong)
    if rank == 0:
        result = {"ranks": ranks, "out_of_place_us": None, "in_place_us": slowest.item(), "wrong": wrong.item()}
        print(json.dumps(result))
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        rank_main(int(os.environ["RANK"]), *map(int, sys.argv[1:]))
    else:
        sys.exit(start(sys.argv[1:]))
