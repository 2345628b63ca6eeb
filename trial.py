"""Throw-away: plain, zero-copy and copies on two GPUs of one process or two."""
import os, sys, json
os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
from tests.gpu.on_gpu import connected
from tests.transports.ranks import on_ranks
from railgauge._native import collectives as native
from railgauge.collectives.case import Case
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.gpu_way import Launch
from railgauge.collectives.operation import NUMBERS, count_of, IN_PLACE
from railgauge.topo.algorithm import Algorithm as A, Collective as C, Protocol as P

N = 2
SIZES = [256 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 32 << 20, 128 << 20, 512 << 20, 1 << 30]
ways = {"plain": None, "zero": (A.ZERO_COPY, P.SIMPLE), "copies": (A.COPY_ENGINE, P.SIMPLE)}

def part(bootstrap):
    comm = connected(bootstrap)
    big = 1 << 30
    mem = [comm.registered_memory(big, symmetric=True) for _ in range(2)]
    out = []
    for coll in (C.ALL_REDUCE, C.ALL_GATHER, C.REDUCE_SCATTER, C.ALL_TO_ALL, C.BROADCAST):
        for size in SIZES:
            case = Case(collective=coll, count=count_of(coll, size, 4, N), dtype=Dtype.FLOAT, op=Redop.SUM, root=N - 1)
            in_place = coll in IN_PLACE
            s = mem[0].pointer; d = mem[0].pointer if in_place else mem[1].pointer
            if coll is C.ALL_GATHER: s = d + comm.rank * case.count * 4
            if coll is C.REDUCE_SCATTER: d = s + comm.rank * case.count * 4
            row = {}
            for name, way in ways.items():
                if name == "copies" and coll in (C.ALL_REDUCE, C.REDUCE_SCATTER): continue
                blockss = [0] if name != "zero" else [0, 16, 32, 64, 128]
                for b in blockss:
                    launch = None if way is None else Launch(*way, blocks=b)
                    if way is None:
                        launch = Launch(A.ONE_SHOT, P.LL) if size <= 256 << 10 else Launch(A.TWO_SHOT, P.LL128) if size <= 4 << 20 else Launch(A.TWO_SHOT, P.SIMPLE)
                    times = max(3, min(50, int(20e-3 / (size / 3e11 + 5e-6))))
                    try:
                        best = min(comm.repeat(case, s, d, ahead=2, times=times, launch=launch) for _ in range(3))
                        row[name + (str(b) if b else "")] = round(best * 1e6, 2)
                    except Exception as e:
                        row[name] = str(e)[:60]
            if comm.rank == 0:
                f = coll.factor(N)
                print(coll.value, size, row, {k: round(size / v / 1e3 * f, 1) for k, v in row.items() if isinstance(v, float)}, flush=True)
    bootstrap.barrier()
    comm.close()

on_ranks(N, part, 60)
