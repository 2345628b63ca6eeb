# SPDX-License-Identifier: Apache-2.0
"""A rank under torchrun, of three: rank 2 is stopped (SIGSTOP) in the first group, rank 1 killed (-9) in the second.

    torchrun --nproc-per-node 3 losing_rank.py FOLDER

Writes what the others report to FOLDER/stopped-R and FOLDER/killed-R.
"""

import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from tests.patience import FAR_S

import railgauge.torch  # noqa: F401

SHORT_S = 3


def lose(folder, name, lost, how):
    """All-reduce until one is lost; the error that this rank reports."""
    rank = dist.get_rank()
    dist.all_reduce(torch.ones(1000))
    if rank == lost:
        os.kill(os.getpid(), how)
    try:
        while True:
            dist.all_reduce(torch.ones(1000))
    except dist.DistBackendError as error:
        Path(folder, f"{name}-{rank}").write_text(str(error))
    dist.distributed_c10d._abort_process_group()


def main(folder):
    dist.init_process_group("railgauge", timeout=timedelta(seconds=SHORT_S))
    rank = dist.get_rank()
    lose(folder, "stopped", 2, signal.SIGSTOP)
    dist.init_process_group(
        "railgauge", init_method=f"file://{folder}/two", rank=rank, world_size=2, timeout=timedelta(seconds=FAR_S)
    )
    lose(folder, "killed", 1, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1])
