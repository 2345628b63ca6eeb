# SPDX-License-Identifier: Apache-2.0
"""A container's seccomp filter denies the NUMA system calls."""

import errno
import os
from collections.abc import Iterator

from railgauge.topo.findings.cards.process import NUMA_SYSCALLS_BLOCKED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine

NO_NUMA = os.strerror(errno.ENOSYS)  # a kernel without NUMA, or gVisor


def _check(machine: Machine) -> Iterator[Finding]:
    process = machine.sources.process
    error = process.numa_error
    if error is None:
        yield RULE.unknown(machine.host, "get_mempolicy was not called")
    elif error:
        gpus = bool(machine.sources.gpus)
        yield RULE.finding(
            Level.WARN if gpus and error != NO_NUMA else Level.INFO,
            machine.host,
            f"get_mempolicy fails ({error}){', a seccomp filter is active' if process.seccomp == 2 else ''}: "
            "NCCL cannot place host memory near a GPU",
            error=error,
            seccomp=process.seccomp,
        )


RULE = Rule(card=NUMA_SYSCALLS_BLOCKED, check=_check)
