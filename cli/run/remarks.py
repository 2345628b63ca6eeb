# SPDX-License-Identifier: Apache-2.0
"""Remarks on the memory of the ranks, and on flags without effect there."""

from railgauge.collectives.device import AUTO, Device


def remarks_on(device: str, register: int, of_gpus: dict[str, int]) -> list[str]:
    """Remarks on the memory that the ranks use, and on flags without effect there."""
    from railgauge.collectives.device import why_no_gpu

    why = None if device == Device.CPU else why_no_gpu()
    if device == Device.CUDA or (device == AUTO and not why):
        return ["ranks use GPUs"] * (device == AUTO)
    return [*([f"ranks use host memory: {why}"] if why else []), *registered(register), *ignored(of_gpus)]


def registered(register: int) -> list[str]:
    """A remark on -R: host memory has one kind of registration."""
    symmetric = "; same as -R 1, host memory has no symmetric registration" if register == 2 else ""
    memory = "mapped by all ranks of a host and registered with RDMA devices"
    return [f"-R {register}: buffers are {memory}{symmetric}"] if register else []


def ignored(flags: dict[str, int]) -> list[str]:
    """A remark that names nccl-tests' flags without effect in host memory."""
    given = [name for name, value in flags.items() if value]
    return [f"{', '.join(given)}: no effect in host memory"] if given else []
