# SPDX-License-Identifier: Apache-2.0
"""Measuring the links between the GPUs of this machine, in one process: a tournament over each transport and copy
method, with a thread for each pair of a round, then some pairs again, alone, while it is unclear which GPU or link is
slow.
"""

import os
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace

from railgauge._native import collectives as native
from railgauge.collectives.link.gpu_meter import GpuFigures, GpuLink, measure_pair, room
from railgauge.collectives.link.gpu_path import GpuPaths
from railgauge.collectives.link.gpu_way import VIA, GpuWay, detour_lines, gpu_ways
from railgauge.collectives.link.judgement import to_measure_again
from railgauge.collectives.link.link_job import LinkJob
from railgauge.collectives.link.link_result import LinkResult, RankPlace
from railgauge.collectives.link.measurement import Say
from railgauge.collectives.link.pair_result import FILLS_BYTES, PairResult, PairSample
from railgauge.collectives.link.tournament import Pair
from railgauge.collectives.node_machine import read_machine
from railgauge.topo.errors import AbortedError, UnavailableError, UsageError, VerificationError
from railgauge.transports.available import P2P

Connect = Callable[[int, int, int, bool, float], GpuLink]
"""`native.GpuLink`: two GPUs, bytes of a buffer, whether they access each other's memory, the timeout in seconds."""
SPARED = 0.1
"""Share of the free memory that is left for contexts, kernels and other programs."""
MIB = 1 << 20


def measure_gpus(result: LinkResult, say: Say, remark: Say) -> None:
    """Measure the GPUs that CUDA lists; `result` grows meanwhile.

    `say` takes lines of progress, `remark` a line for each deviation from what was requested.

    Raises:
        UnavailableError: there are fewer than two GPUs, too little memory, or no pair with the requested transport.
        UsageError: the request names an unknown GPU or transport. VerificationError: received bytes differ from those
        sent; the result is complete. WaitTimeoutError: a GPU hangs.
    """
    count = native.gpu_count()
    check_gpus(result.job, count)
    bus_ids = [native.gpu_facts(gpu)[0] for gpu in range(count)]
    machine = read_machine(os.environ, os.environ.get("NCCL_TOPO_FILE"), result.job.save_capture)
    paths = GpuPaths(machine, bus_ids, os.environ)
    host = socket.gethostname()
    result.ranks = [
        RankPlace(rank=gpu, host=host, numa=paths.numa[gpu], gpu=bus_id) for gpu, bus_id in enumerate(bus_ids)
    ]
    found = gpu_ways(count, paths, lambda a, b: native.gpus_reach(bus_ids[a], bus_ids[b]), result.job.transport)
    for line in detour_lines(found.detours):
        remark(f"no P2P, using memory of the host: {line}")
    left = {gpu: native.gpu_memory_left(gpu) for gpu in result.job.pair or range(count)}
    result.job = affordable(result.job, left, remark)
    Tournament(result, native.GpuLink, say).run(found.ways)


def check_gpus(job: LinkJob, gpus: int) -> None:
    """Raise UnavailableError unless there are two GPUs, UsageError unless the named ones exist."""
    if gpus < 2:
        raise UnavailableError(
            f"at least two GPUs are needed, and CUDA finds {gpus or 'none'} (CUDA_VISIBLE_DEVICES hides GPUs): "
            f"--device cpu --ranks 2 measures ranks on the host"
        )
    if job.pair and job.pair[1] >= gpus:
        raise UsageError(f"GPU {job.pair[1]} does not exist: CUDA finds GPUs 0 to {gpus - 1}")


def affordable(job: LinkJob, left: dict[int, int], remark: Say) -> LinkJob:
    """The job with messages no longer than memory allows, which is reported; `left`: free bytes by GPU.

    Raises:
        UnavailableError: there is less than a MiB for each of two buffers.
    """
    gpu = min(left, key=left.__getitem__)
    longest = int(left[gpu] * (1 - SPARED)) // 2 // MIB * MIB
    if room(job) <= longest:
        return job
    if longest < max(MIB, room(replace(job, bytes=1))):
        raise UnavailableError(
            f"GPU {gpu} has {left[gpu]} bytes free, too few for two messages: end other programs on it"
        )
    remark(f"-b {job.bytes}: GPU {gpu} has {left[gpu] // MIB} MiB free, so messages are {longest // MIB} MiB")
    return replace(job, bytes=longest)


class Tournament:
    """Measures over each transport and copy method, the pairs of a round at the same time."""

    def __init__(self, result: LinkResult, connect: Connect, say: Say) -> None:
        self._result = result
        self._job = result.job
        self._connect = connect
        self._say = say
        self._rounds = 0
        self._first_wrong: str | None = None

    def run(self, ways: Sequence[GpuWay]) -> None:
        """Measure everything; results so far are kept even if it raises.

        Raises:
            RunError: as `measure_gpus`.
        """
        rounds, links = self._job.rounds(len(self._result.ranks)), self._result.links
        for way in ways:
            for number, pairs in enumerate(rounds):
                self._say(f"{way.transport} by {way.method.label}: round {number + 1} of {len(rounds)}")
                links += self._round(way, number, [pair for pair in pairs if pair in way.paths])
        if not links:
            raise UnavailableError("no requested transport connects these two GPUs")
        number = len(rounds)
        while places := to_measure_again(links):
            self._say(f"not clear yet: measuring {len(places)} pairs again, one at a time")
            for place in places:
                one = links[place]
                way = next(way for way in ways if (way.transport, way.method) == (one.transport, one.method))
                links[place] = one.and_again(self._round(way, number, [one.ranks])[0])
                number += 1
        if self._first_wrong:
            raise VerificationError(self._first_wrong)

    def _round(self, way: GpuWay, number: int, pairs: Sequence[Pair]) -> list[PairResult]:
        """Measure pairs that have no GPU in common at the same time."""
        self._rounds += 1
        if not pairs:
            return []
        peers = way.transport == P2P
        links = [self._connect(*pair, room(self._job), peers, self._job.timeout_s) for pair in pairs]
        with ThreadPoolExecutor(len(pairs)) as threads:
            running = [threads.submit(measure_pair, link, way.method, self._job, self._rounds) for link in links]
            try:
                wait(running, return_when=FIRST_EXCEPTION)
            finally:  # if one failed, or on Ctrl-C, the others end too
                for link, one in zip(links, running, strict=True):
                    if not one.done():
                        link.abort()
        failed = [error for one in running if (error := one.exception())]
        if failed:
            raise next((error for error in failed if not isinstance(error, AbortedError)), failed[0])
        return [self._joined(way, number, pair, one.result()) for pair, one in zip(pairs, running, strict=True)]

    def _joined(self, way: GpuWay, number: int, pair: Pair, figures: GpuFigures) -> PairResult:
        path, (out_s, back_s) = way.paths[pair], figures.one_way_s
        if sum(figures.wrong) and not self._first_wrong:
            self._first_wrong = (
                f"GPUs {pair[0]} and {pair[1]}: {sum(figures.wrong)} bytes over {way.transport} by {way.method.label} "
                f"are wrong: {figures.first_wrong}"
            )
        return PairResult(
            ranks=pair,
            transport=way.transport,
            rail=0,
            crosses=False,
            one_numa=False,
            round=number,
            sharing=1,
            crowded=False,
            samples=(
                PairSample(
                    (self._job.bytes / out_s / 1e9, self._job.bytes / back_s / 1e9),
                    self._job.bytes / figures.both_s / 1e9,
                    figures.there_and_back_s / 2 * 1e6,
                ),
            ),
            predicted_gb_per_s=path.gb_per_s,
            predicted_latency_us=None,
            via=(VIA[way.transport],) * 2,
            planned=(VIA[way.transport],) * 2,
            wrong=figures.wrong,
            moved=None,
            method=way.method,
            path=path,
            is_short=self._job.bytes < FILLS_BYTES,
        )
