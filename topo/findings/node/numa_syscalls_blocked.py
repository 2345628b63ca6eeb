# SPDX-License-Identifier: Apache-2.0
"""A container's filter of system calls denies those about NUMA."""

import errno
import os
from collections.abc import Iterator

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule

NO_NUMA = os.strerror(errno.ENOSYS)  # a kernel without NUMA, or gVisor


def _check(case: Case) -> Iterator[Finding]:
    process = case.evidence.process
    error = process.numa_error
    if error is None:
        yield RULE.unknown(case.host, "get_mempolicy was not tried")
    elif error:
        gpus = bool(case.inventory and case.inventory.gpus)
        yield RULE.finding(
            Level.WARN if gpus and error != NO_NUMA else Level.INFO,
            case.host,
            f"get_mempolicy fails ({error}){', seccomp filters system calls' if process.seccomp == 2 else ''}: "
            "NCCL cannot place host memory near a GPU",
            error=error,
            seccomp=process.seccomp,
        )


RULE = Rule(
    id="numa-syscalls-blocked",
    title="System calls about NUMA are denied",
    levels=(Level.INFO, Level.WARN, Level.UNKNOWN),
    about=(
        "Docker's default filter denies get_mempolicy, set_mempolicy and mbind. CUDA then cannot allocate host memory "
        "on a NUMA node, which NCCL does since 2.24: it falls back to /dev/shm, or fails while attaching to it."
    ),
    passes="get_mempolicy works",
    reads=("get_mempolicy", "/proc/self/status (Seccomp)"),
    shows=(
        "cuMem host allocations do not appear to be working; falling back to a /dev/shm/ based implementation. This "
        "could be due to the container runtime disabling NUMA support. To disable this warning, set "
        "NCCL_CUMEM_HOST_ENABLE=0",
        "Error while attaching to shared memory segment /dev/shm/nccl- (size 192814336), error: No such file or "
        "directory (2)",
    ),
    sure="numactl --show in the container; grep Seccomp /proc/self/status",
    remedy="docker run --cap-add SYS_NICE, or NCCL_CUMEM_HOST_ENABLE=0",
    links=("https://github.com/NVIDIA/nccl/issues/2190", "https://github.com/hiyouga/LLaMA-Factory/issues/9506"),
    check=_check,
)
