# SPDX-License-Identifier: Apache-2.0
"""Trial of the GPU engine on one host: right data, then times beside NCCL's (torch.distributed), one process a GPU."""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from railgauge._native.collectives import GpuEngine

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, ALL_TO_ALL, GATHER, SCATTER, SEND_RECV = range(9)
NAMES = "all_reduce all_gather reduce_scatter broadcast reduce alltoall gather scatter sendrecv".split()
DTYPES = {torch.float16: 0, torch.bfloat16: 1, torch.float32: 2, torch.float64: 3, torch.int8: 4, torch.uint8: 5,
          torch.int32: 6, torch.int64: 8}
LOW_LATENCY, PUSH, FULL_LINES = 0, 1, 2


def inputs(count, dtype, rank, seed):
    g = torch.Generator(device="cuda").manual_seed(seed * 100 + rank)
    return torch.randint(1, 4, (count,), generator=g, device="cuda").to(dtype)


def reduced(all_of, op):
    wide = torch.stack([x.double() for x in all_of])
    return {0: wide.sum(0), 1: wide.prod(0), 2: wide.min(0).values, 3: wide.max(0).values}[op]


def check(eng, rank, n):
    bad = cases = 0
    stream = torch.cuda.current_stream().cuda_stream
    for seed, count in enumerate((1, 3, 127, 1000, 4096, 65537, 300001)):
        for dtype, number in DTYPES.items():
            for collective in range(9):
                root = seed % n
                for op in (0, 1, 2, 3) if collective in (ALL_REDUCE, REDUCE_SCATTER, REDUCE) else (0,):
                    for way in (LOW_LATENCY, PUSH, FULL_LINES):
                        if way == LOW_LATENCY and count * dtype.itemsize > 200_000:
                            continue
                        for off in (0, 1):
                            big_in = collective in (REDUCE_SCATTER, ALL_TO_ALL, SCATTER)
                            big_out = collective in (ALL_GATHER, ALL_TO_ALL, GATHER)
                            x = [inputs(count * (n if big_in else 1) + off, dtype, r, seed)[off:] for r in range(n)]
                            out = torch.full((count * (n if big_out else 1) + off + 1,), 77, device="cuda").to(dtype)
                            o = out[off:-1]
                            eng.run(collective, x[rank].data_ptr(), o.data_ptr(), count, number, op, root, stream, way)
                            eng.synchronize(stream)
                            mine = slice(rank * count, (rank + 1) * count)
                            want = {
                                ALL_REDUCE: lambda: reduced(x, op), ALL_GATHER: lambda: torch.cat(x),
                                REDUCE_SCATTER: lambda: reduced(x, op)[mine], BROADCAST: lambda: x[root],
                                REDUCE: lambda: reduced(x, op) if rank == root else None,
                                ALL_TO_ALL: lambda: torch.cat([y[mine] for y in x]),
                                GATHER: lambda: torch.cat(x) if rank == root else None,
                                SCATTER: lambda: x[root][mine], SEND_RECV: lambda: x[(rank - 1) % n],
                            }[collective]()
                            cases += 1
                            if want is not None and not torch.equal(o.double(), want.double()):
                                bad += 1
                                if bad < 10:
                                    wrong = (o.double() != want.double()).nonzero()[:3].flatten().tolist()
                                    print("WRONG", rank, NAMES[collective], count, dtype, op, way, off, wrong,
                                          o[wrong].tolist(), want[wrong].tolist(), flush=True)
                            if int(out[-1]) != 77:
                                print("OVERRUN", NAMES[collective], count, dtype, flush=True)
    if rank == 0:
        print(f"# {cases} cases, {bad} wrong on rank 0", flush=True)


def timed(call, times):
    call(); call()
    torch.cuda.synchronize(); dist.barrier(); torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(times):
        call()
    end.record()
    torch.cuda.synchronize()
    us = torch.tensor([begin.elapsed_time(end) / times * 1e3], device="cuda")
    dist.all_reduce(us, dist.ReduceOp.MAX)
    return us.item()


def graphed(call, times):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        call()
        torch.cuda.synchronize(); dist.barrier(); torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            for _ in range(20):
                call()
    return timed(graph.replay, max(1, times // 20)) / 20


def bench(eng, rank, n):
    now = lambda: torch.cuda.current_stream().cuda_stream
    for e in (1, 9, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 25, 27, 28):
        count = 1 << e
        x = torch.ones(count, device="cuda"); o = torch.empty_like(x); z = torch.zeros_like(x)
        times = 200 if count < 1 << 20 else 20
        ours = lambda way=-1, b=0, c=0: eng.run(ALL_REDUCE, x.data_ptr(), o.data_ptr(), count, 2, 0, 0, now(), way, b, c)
        nccl = lambda: dist.all_reduce(z)
        small = count * 4 <= 1 << 23
        best = {}
        for _ in range(3):
            for name, call in (("nccl", nccl), ("ours", ours)):
                us = timed(call, times), graphed(call, 100) if small else 0
                best[name] = [min(one) for one in zip(us, best.get(name, us))]
        line = f"{count*4:>11} nccl {best['nccl'][0]:9.1f} ours {best['ours'][0]:9.1f} ratio {best['ours'][0]/best['nccl'][0]:.2f}"
        if small:
            line += f" graph nccl {best['nccl'][1]:7.1f} ours {best['ours'][1]:7.1f} ratio {best['ours'][1]/best['nccl'][1]:.2f}"
            if count * 4 <= 1 << 20:
                line += " LL graphed " + " ".join(f"{b}:{graphed(lambda: ours(0, b), 100):.1f}" for b in (4, 8, 16, 32, 64, 128) if count * 4 / b <= 8192)
            if count * 4 >= 1 << 17:
                line += " push graphed " + " ".join(f"{b}/{c>>10}K:{graphed(lambda: ours(1, b, c), 100):.1f}"
                                            for b in (16, 32, 64, 128) for c in (8 << 10, 16 << 10, 32 << 10))
        eng.synchronize(now())
        assert torch.equal(o, torch.full_like(o, n))
        if rank == 0:
            print(line, flush=True)
    for collective in (ALL_GATHER, REDUCE_SCATTER, BROADCAST, ALL_TO_ALL, REDUCE, SEND_RECV):
        for size in (1 << 16, 1 << 19, 1 << 21, 1 << 23, 1 << 25, 1 << 28):
            whole = torch.ones(size // 4, device="cuda"); other = torch.empty_like(whole)
            part = whole[: size // 4 // n]; count = part.numel()
            peer = (rank + 1) % n
            pair = {
                ALL_GATHER: (lambda: dist.all_gather_into_tensor(other, part), (part, other, count)),
                REDUCE_SCATTER: (lambda: dist.reduce_scatter_tensor(other[:count], whole), (whole, other, count)),
                BROADCAST: (lambda: dist.broadcast(whole, 0), (whole, whole if rank == 0 else other, size // 4)),
                ALL_TO_ALL: (lambda: dist.all_to_all_single(other, whole), (whole, other, count)),
                REDUCE: (lambda: dist.reduce(other, 0), (whole, other, size // 4)),
                SEND_RECV: (lambda: [w.wait() for w in dist.batch_isend_irecv([dist.P2POp(dist.isend, whole, peer), dist.P2POp(dist.irecv, other, (rank - 1) % n)])], (whole, other, size // 4)),
            }
            nccl, (src, dst, count) = pair[collective]
            other.zero_()
            ours = lambda: eng.run(collective, src.data_ptr(), dst.data_ptr(), count, 2, 0, 0, now())
            times = 100 if size < 1 << 23 else 20
            a = min(timed(nccl, times) for _ in range(3)); b = min(timed(ours, times) for _ in range(3))
            if rank == 0:
                print(f"{NAMES[collective]:>15} {size:>10} nccl {a:9.1f} ours {b:9.1f} ratio {b/a:.2f}", flush=True)
    eng.synchronize(now())


def main(rank, n):
    torch.cuda.set_device(rank)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", NCCL_NVLS_ENABLE="0")
    dist.init_process_group("nccl", rank=rank, world_size=n, device_id=torch.device("cuda", rank))
    eng = GpuEngine(rank, rank, n, 5.0)
    handles = [None] * n
    dist.all_gather_object(handles, eng.lent)
    eng.connect(handles)
    dist.barrier(); torch.cuda.synchronize()
    began = time.time()
    check(eng, rank, n)
    if rank == 0:
        print(f"# checked in {time.time() - began:.0f} s; NCCL {torch.cuda.nccl.version()}", flush=True)
    dist.barrier(); torch.cuda.synchronize()
    if "bench" in sys.argv:
        bench(eng, rank, n)
    dist.barrier(); torch.cuda.synchronize()
    if rank == 0:
        x = torch.ones(1 << 20, device="cuda")
        for way in (LOW_LATENCY, PUSH, FULL_LINES):
            began = time.time()
            try:
                eng.run(ALL_REDUCE, x.data_ptr(), x.data_ptr(), 1000, 2, 0, 0, 0, way)
                eng.synchronize(0)
                print("# NOT NOTICED")
            except Exception as error:
                print(f"# alone: {type(error).__name__}: {error} after {time.time() - began:.1f} s", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    n = torch.cuda.device_count()
    mp.spawn(main, (n,), n)
