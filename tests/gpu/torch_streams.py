# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.gpu.torch_streams RANK SIZE FILE`: a process for each rank, with streams and graphs of PyTorch."""

import os
import sys

import torch

import railgauge

COUNT, ROUNDS = 1 << 20, 20


def main(rank: int, size: int, file: str) -> None:
    torch.cuda.set_device(rank)
    os.environ["NCCL_SOCKET_IFNAME"] = "lo"
    with railgauge.init_process_group(f"file://{file}", rank, size, device=rank, bind=False) as job:
        comm = job.communicator
        tensors = [torch.full((COUNT,), rank + 1.0, dtype=torch.double, device="cuda") for _ in range(3)]
        runs = [0] * len(tensors)

        def put(number: int) -> None:
            comm.all_reduce(tensors[number])

        streams = [torch.cuda.Stream() for _ in range(2)]
        for stream in streams:
            stream.wait_stream(torch.cuda.current_stream())
        for turn in range(ROUNDS):  # tensor n on stream n, with nothing that awaits the other
            with torch.cuda.stream(streams[turn % 2]):
                put(turn % 2)
            runs[turn % 2] += 1
        for stream in streams:
            torch.cuda.current_stream().wait_stream(stream)

        graphs = [torch.cuda.CUDAGraph() for _ in range(2)]
        for number, graph in enumerate(graphs):
            with torch.cuda.graph(graph):
                put(number)
                put(number)
        for turn in range(ROUNDS):  # replays on two streams beside what is put on the current one
            if turn % 3 < 2:
                with torch.cuda.stream(streams[turn % 3]):
                    graphs[turn % 3].replay()
                runs[turn % 3] += 2
            else:
                put(2)
                runs[2] += 1
        torch.cuda.synchronize()
        comm.synchronize()
        for number, tensor in enumerate(tensors):
            wanted = size * (size + 1) / 2 * float(size) ** (runs[number] - 1)
            wrong = int((tensor != wanted).sum())
            assert not wrong, f"tensor {number}: {wrong} of {COUNT} elements are wrong"


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
