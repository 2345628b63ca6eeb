# SPDX-License-Identifier: Apache-2.0
"""The program of each of the two VMs: all-reduces of railgauge and of Open MPI in turns; rank 0 prints a JSON line for
each sample. Arguments: RANK TURNS MPIRUN PROGRAM, the last being mpi_collectives of host_collectives.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.verbs_vs_perftest.perftest import bandwidth_mb_per_s, latency_us
from tests.vm.in_guest.ib_ends import Rendezvous, meet
from tests.vm.lab.ssh import SSH, address

from railgauge import init_process_group
from railgauge._native.collectives import Pattern
from railgauge.collectives.case import OperationCase
from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Dtype, PatternKind, Redop
from railgauge.collectives.host_bench import HostBench
from railgauge.topo.nccl.settings.algorithm import Collective

DEVICE, INTERFACE = "rxe0", "rail0"
ITERATIONS = {8: 200, 1 << 10: 200, 64 << 10: 40, 1 << 20: 6, 8 << 20: 2}
"""By size in bytes; a tenth as many run first untimed, at least one."""
OURS = {
    "NET/IB": {"NCCL_NET": "IB", "NCCL_IB_HCA": f"={DEVICE}", "NCCL_IB_TIMEOUT": "18"},
    "NET/Socket": {"NCCL_NET": "Socket"},
}
"""A lost packet is sent again after 1.07 s, as with UCX (UCX_RC_TIMEOUT)."""
MPI = {
    "UCX": ["--mca", "pml", "ucx", "-x", "UCX_TLS=rc,self", "-x", f"UCX_NET_DEVICES={DEVICE}:1"],
    "TCP": ["--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", INTERFACE],
}
LARGE, LARGE_TIMES = 1 << 20, 10
FIRST_PORT = 29500
TIMEOUT_S = 120


def warmup(size: int) -> int:
    """How many untimed operations run before the timed ones."""
    return max(1, ITERATIONS[size] // 10)


class Ours:
    """This rank of a group that stays connected while the other programs run."""

    def __init__(self, rank: int, port: int, settings: dict[str, str]) -> None:
        os.environ.update(settings)
        self._group = init_process_group(f"tcp://{address(0)}:{port}", rank, 2)
        assert isinstance(self._group.communicator, Communicator)
        for name in settings:
            del os.environ[name]
        self._bench = HostBench(self._group.communicator, max(ITERATIONS), register=True)

    def samples(self) -> Iterator[dict[str, Any]]:
        """One of each size, on rank 0 with the slower rank's mean microseconds."""
        for size in ITERATIONS:
            case = OperationCase(
                collective=Collective.ALL_REDUCE, count=size // 4, dtype=Dtype.FLOAT, op=Redop.SUM, root=0
            )
            times = {f"{way}_us": self._time(case, size, way == "in_place") for way in ("out_of_place", "in_place")}
            yield {"bytes": size, **times}

    def _time(self, case: OperationCase, size: int, in_place: bool) -> float:
        self._group.barrier()
        seconds = self._bench.repeat(case, in_place=in_place, ahead=warmup(size), times=ITERATIONS[size])
        pattern = Pattern(2, case.dtype, case.op, size, PatternKind.EXACT)
        self._bench.fill(case, pattern, in_place=in_place)
        self._bench.repeat(case, in_place=in_place)
        verdict = self._bench.verify(case, pattern, PatternKind.EXACT, in_place=in_place)
        if verdict.wrong:
            raise RuntimeError(f"{case} of {size} bytes: {verdict}")
        return float(self._group.communicator.all_reduce(np.array([seconds * 1e6]), op=Redop.MAX)[0])

    def close(self) -> None:
        """Close on all ranks together."""
        self._group.close()


def mpi_samples(mpirun: str, program: str, options: list[str]) -> Iterator[dict[str, Any]]:
    """One of each size, of one mpirun."""
    jobs = [str(number) for size in ITERATIONS for number in (size // 4, ITERATIONS[size], warmup(size))]
    hosts = ["-n", "2", "--host", f"{address(0)}:1,{address(1)}:1", "--bind-to", "none"]
    launch = [mpirun, *hosts, "--prtemca", "plm_ssh_agent", SSH, *options, program, "all_reduce", *jobs]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(launch, env=os.environ | root, capture_output=True, text=True, timeout=TIMEOUT_S)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or len(lines) != len(ITERATIONS) or any(line["wrong"] for line in lines):
        raise RuntimeError(f"{' '.join(launch)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    for size, line in zip(ITERATIONS, lines, strict=True):
        yield {"bytes": size, **{name: line[name] for name in ("out_of_place_us", "in_place_us")}}


def device_samples(rank: int, rendezvous: Rendezvous) -> Iterator[dict[str, Any]]:
    """The device's own time for as many bytes in both directions at once, from its bandwidth, or a write's latency."""
    least = latency_us(rank, address(0), rendezvous, DEVICE, min(ITERATIONS), ITERATIONS[min(ITERATIONS)])["mean_us"]
    rate = bandwidth_mb_per_s(rank, address(0), rendezvous, DEVICE, LARGE, LARGE_TIMES, both_ways=True) / 2
    for size in ITERATIONS:
        us = max(least, size / rate)
        yield {"bytes": size, "out_of_place_us": us, "in_place_us": us}


def take_turns(rank: int, turns: int, mpirun: str, program: str, rendezvous: Rendezvous, ours: dict[str, Ours]) -> None:
    """All programs, in an order that changes from turn to turn."""
    names = [*(("railgauge", net) for net in OURS), *(("openmpi", net) for net in MPI), ("perftest", "device")]
    for turn in range(turns):
        shift = turn % len(names)
        for which, net in names[shift:] + names[:shift]:
            rendezvous.barrier()
            if which == "railgauge":
                samples = list(ours[net].samples())
            elif which == "perftest":
                samples = list(device_samples(rank, rendezvous))
            elif rank == 0:
                samples = list(mpi_samples(mpirun, program, MPI[net]))
            if rank == 0:
                for sample in samples:
                    print(json.dumps({"program": which, "network": net, "turn": turn, **sample}), flush=True)


def main() -> None:
    rank, turns, mpirun, program = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
    rendezvous = meet(rank, address(0))
    os.environ["NCCL_SOCKET_IFNAME"] = INTERFACE
    ours = {net: Ours(rank, FIRST_PORT + number, settings) for number, (net, settings) in enumerate(OURS.items())}
    take_turns(rank, turns, mpirun, program, rendezvous, ours)
    for each in ours.values():
        each.close()


main()
