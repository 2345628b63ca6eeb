# SPDX-License-Identifier: Apache-2.0
"""Binding a process: the CPUs and the memory that the kernel is asked for, on recorded calls."""

import ctypes
import os
import platform
from types import SimpleNamespace

import pytest

from railgauge.topo.errors import UnavailableError
from railgauge.transports import placement


@pytest.fixture
def kernel(monkeypatch):
    """What the kernel is asked for; this process may run on CPUs 3 and 130 of 8 that are counted."""
    asked = SimpleNamespace(cpus=None, memory=None, status=0)

    def syscall(number, policy, mask, bits):
        asked.memory = (number.value, policy.value, [bit for bit in range(1024) if mask[bit // 64] >> bit % 64 & 1])
        assert bits.value > 1024  # the kernel takes one off
        return asked.status

    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 130})
    monkeypatch.setattr(os, "sched_setaffinity", lambda process, cpus: setattr(asked, "cpus", sorted(cpus)))
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(ctypes, "CDLL", lambda name, use_errno: SimpleNamespace(syscall=syscall))
    return asked


def test_a_process_is_let_run_on_all_cpus_also_beyond_those_that_are_counted(kernel):
    assert placement.widen() == {3, 130}
    assert kernel.cpus == list(range(131))


def test_what_there_is_of_the_wanted_cpus_is_answered(kernel):
    assert placement.bind_cpus((3, 4)) == {3, 130}
    assert kernel.cpus == [3, 4]


@pytest.mark.parametrize("node", [0, 1, 63, 64, 200])
def test_memory_of_a_node_is_preferred_by_its_bit(kernel, node):
    """set_mempolicy(2): MPOL_PREFERRED is 1, the call 238 on x86-64."""
    placement.prefer_memory(node)
    assert kernel.memory == (238, 1, [node])


def test_a_kernel_that_refuses_and_an_unknown_one_are_errors(kernel, monkeypatch):
    kernel.status = -1
    with pytest.raises(UnavailableError, match="NUMA node 1: "):
        placement.prefer_memory(1)
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(UnavailableError, match="--preferred=1"):
        placement.prefer_memory(1)
