# SPDX-License-Identifier: Apache-2.0
"""Where a run's memory is, on the host or on GPUs, and which rank has which GPU."""

import contextlib
import os
import sys
from dataclasses import dataclass
from enum import StrEnum

from railgauge.collectives.job import Job
from railgauge.topo.errors import Error, UnavailableError, UsageError


class Device(StrEnum):
    """Memory of the host, or of GPUs."""

    CPU = "cpu"
    CUDA = "cuda"


AUTO = "auto"
NO_KERNELS = (
    "this railgauge was built without GPU kernels (no nvcc): install a wheel that scripts/wheel made where nvcc is, "
    "or run pip install . with nvcc on PATH"
)


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU of this process: CUDA's number, its bus id (`0000:1b:00.0`), its name."""

    device: int
    bus_id: str
    name: str


def check_device(text: str) -> None:
    """Read --device; UsageError: there is no such device."""
    if text not in (AUTO, *Device):
        raise UsageError(f"--device {text}: expected {AUTO}, cpu or cuda")


def why_no_gpu() -> str | None:
    """Why ranks cannot run on GPUs in this process; None when they can."""
    from railgauge._native import collectives as native  # a launching process does not need it

    try:
        if not native.gpu_count():
            return "CUDA finds no GPU here (CUDA_VISIBLE_DEVICES?)"
        return None if native.has_gpu_kernels() else NO_KERNELS
    except Error as error:
        return str(error)


def resolve(text: str) -> Device:
    """The device that --device means in this process.

    Raises:
        UnavailableError: GPUs were requested, and none can be used.
    """
    if text == Device.CPU:
        return Device.CPU
    why = why_no_gpu()
    if why and text == Device.CUDA:
        raise UnavailableError(f"--device cuda: {why}; --device cpu runs host ranks with our own engine")
    return Device.CPU if why else Device.CUDA


def check_on_gpus(job: Job) -> None:
    """Raise UsageError if an option that is for host memory only was given."""
    of_the_host = {"--fault": job.fault, "--counters": job.counters, "--record": job.record}
    if asked := [flag for flag, value in of_the_host.items() if value]:
        raise UsageError(f"{asked[0]} is for ranks in host memory: add --device cpu")
    if job.blocking and job.replays:
        raise UsageError("-z and -G exclude each other: the host cannot wait for operations within a CUDA graph")


def leave_at_once(status: int, *, is_running: bool = False) -> None:
    """Exit with a status when a GPU did not finish in time, or while ranks of this process run: an ordinary exit could
    wait for that GPU, and Python would end the ranks' threads within native code, which aborts the process.
    """
    from railgauge._native import collectives as native

    if is_running or native.a_gpu_hangs():
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(status)


def gpu_of(local_rank: int, ranks_of_process: int) -> Gpu:
    """The GPU of a rank: by its local rank on this host, or, where a launcher shows each process only its own GPUs, by
    its number in this process.

    Raises:
        UnavailableError: this host has fewer GPUs.
    """
    from railgauge._native import collectives as native

    count = native.gpu_count()
    device = local_rank % ranks_of_process if count == ranks_of_process else local_rank
    if device >= count:
        raise UnavailableError(
            f"local rank {local_rank} has no GPU: this host has {count}, and each rank needs its own; "
            f"start fewer ranks, or use --device cpu"
        )
    return gpu_numbered(device)


def gpu_numbered(device: int) -> Gpu:
    """The GPU of this process by CUDA's number; UnavailableError: there is none."""
    from railgauge._native import collectives as native

    return Gpu(device, *native.gpu_facts(device))
