# SPDX-License-Identifier: Apache-2.0
"""One rank of NCCL's all-reduce through PyTorch: checked, timed, one JSON line a size from rank 0.

Run as N processes with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; needs PyTorch with NCCL, nothing of railgauge.
"""

import argparse
import json
import os

import torch
import torch.distributed as dist

WARM = 3
PERIOD = 31  # of the pattern: sums of small integers are exact in float32


def main() -> None:
    """Time every size, then check one fresh all-reduce of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", required=True, help="bytes")
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    for size in options.sizes:
        times = timed(size, options.repetitions)
        wrong = wrong_elements(size // 4, rank, ranks)
        if rank == 0:
            print(json.dumps({"bytes": size, "us": times, "wrong": wrong}), flush=True)
    dist.destroy_process_group()


def timed(size: int, repetitions: int) -> list[float]:
    """Microseconds of one all-reduce, in place, for each repetition: the mean of a batch on the slowest rank."""
    data = torch.zeros(size // 4, device="cuda")
    batch = 200 if size <= 1 << 20 else 20
    samples = []
    for turn in range(repetitions + 1):
        dist.barrier()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(batch if turn else WARM):
            dist.all_reduce(data)
        end.record()
        torch.cuda.synchronize()
        slowest = torch.tensor([begin.elapsed_time(end) * 1e3 / batch], device="cuda")
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        samples.append(round(slowest.item(), 2))
    return samples[1:]


def wrong_elements(count: int, rank: int, ranks: int) -> int:
    """How many elements differ from the sum, on all ranks together."""
    places = torch.arange(count, device="cuda")
    data = ((places + rank) % PERIOD).float()
    dist.all_reduce(data)
    wanted = sum(((places + other) % PERIOD).float() for other in range(ranks))
    wrong = torch.count_nonzero(data != wanted)
    dist.all_reduce(wrong)
    return int(wrong.item())


if __name__ == "__main__":
    main()
