# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.gpu.torch_ranks FOLDER`: three ranks of torch on simulated GPUs, of which rank 1 is killed (-9)
between all_reduces. Prints the others' errors. torch is one for CPUs; ranks are forks of this process.
"""

import os
import signal
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from tests.gpu.tensors import Tensor
from tests.patience import FAR_S

import railgauge.torch  # noqa: F401
from railgauge._native import collectives as native
from railgauge.collectives import gpu_blocks
from railgauge.collectives.dtype import Dtype

RANKS, LOST, COUNT, BLOCKS = 3, 1, 1000, 4


class GpuTensor(torch.Tensor):
    """Elements in the memory of a simulated GPU, as torch's own tensors show theirs."""

    __dlpack_c_exchange_api__ = Tensor.__dlpack_c_exchange_api__
    __torch_function__ = torch._C._disabled_torch_function_impl
    is_cpu = False
    device = property(lambda self: torch.device("cuda", self.number))

    @classmethod
    def of(cls, device):
        made = torch.empty(COUNT, device="meta").as_subclass(cls)
        made.number, made.memory = device, native.GpuMemory(device, COUNT * 4)
        made.told = Tensor(made.memory, Dtype.FLOAT, COUNT, device=device).told
        return made


def main(folder, rank):
    gpu_blocks.BESIDE_COMPUTATION = BLOCKS
    torch._C._cuda_getCurrentStream = lambda device: (0, device, 1)
    dist.init_process_group(
        "railgauge",
        init_method=f"file://{folder}/ranks",
        rank=rank,
        world_size=RANKS,
        timeout=timedelta(seconds=FAR_S),
    )
    tensor = GpuTensor.of(rank)
    dist.all_reduce(tensor)
    assert dist.group.WORLD._ends.cuda.communicator._blocks.most == BLOCKS
    store = dist.group.WORLD.get_group_store()
    store.set(f"joined-{rank}", "1")
    store.wait([f"joined-{one}" for one in range(RANKS)])
    if rank == LOST:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while True:
            dist.all_reduce(tensor)
    except dist.DistBackendError as error:
        print(error, flush=True)
    dist.distributed_c10d._abort_process_group()


if __name__ == "__main__":
    pids = []
    for number in range(RANKS):
        if (pid := os.fork()) == 0:
            main(sys.argv[1], number)
            os._exit(0)
        pids.append(pid)
    ended = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    sys.exit(ended != [0, -signal.SIGKILL, 0])
