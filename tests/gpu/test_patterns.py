# SPDX-License-Identifier: Apache-2.0
"""Verification data on a GPU against that of the host: the same bits, and the same verdicts on right and wrong data."""

import pytest

from railgauge._native import collectives as native
from railgauge.collectives.dtype import Dtype, PatternKind, Redop
from railgauge.topo.errors import UnavailableError

COUNT, FIRST = 5003, 1000
"""Neither begins nor ends a block of the pattern."""
RANKS = (1, 2, 8, 150)
"""Of 150, not all can add something in the short types."""
BEYOND_32_BITS = (1 << 32) + 12345


def cases(dtype: Dtype, kind: PatternKind) -> list[native.Pattern]:
    return [native.Pattern(ranks, dtype, op, 3, kind) for op in Redop for ranks in RANKS]


def on_gpu(data: bytes) -> native.GpuMemory:
    memory = native.GpuMemory(0, len(data))
    memory.write(data)
    return memory


def on_host(memory: native.GpuMemory, size: int) -> bytearray:
    data = bytearray(size)
    memory.read(data)
    return data


def reduced(gpu: native.GpuPatterns, pattern: native.Pattern, data: bytes) -> tuple:
    memory = on_gpu(data)
    return gpu.check_reduced(pattern, memory.pointer, COUNT, FIRST)


def damaged(data: bytearray) -> bytearray:
    """One bit of some elements is another; which bit goes over all of them."""
    result = bytearray(data)
    for number, at in enumerate(range(0, len(data), 97)):
        result[at] ^= 1 << number % 8
    return result


@pytest.mark.parametrize("kind", list(PatternKind))
@pytest.mark.parametrize("dtype", list(Dtype))
def test_inputs_are_the_hosts_bits_and_copies_of_them_are_judged_alike(gpu, dtype, kind):
    for pattern in cases(dtype, kind):
        host = bytearray(COUNT * dtype.bytes)
        native.fill_pattern(pattern, 0, host, COUNT, FIRST)
        memory = native.GpuMemory(0, len(host))
        gpu.fill(pattern, 0, memory.pointer, COUNT, FIRST)
        assert on_host(memory, len(host)) == host
        assert gpu.check_copied(pattern, 0, memory.pointer, COUNT, FIRST)[0] == 0
        memory.write(damaged(host))
        verdict = gpu.check_copied(pattern, 0, memory.pointer, COUNT, FIRST)
        assert verdict[0] > 0
        assert repr(verdict) == repr(native.check_copied(pattern, 0, damaged(host), COUNT, FIRST))


@pytest.mark.parametrize("kind", list(PatternKind))
@pytest.mark.parametrize("dtype", list(Dtype))
def test_reductions_are_judged_alike(gpu, dtype, kind):
    for op in Redop:
        for ranks in (1, 2, 5):
            pattern = native.Pattern(ranks, dtype, op, 4, kind)
            result, *inputs = (bytearray(COUNT * dtype.bytes) for _ in range(1 + ranks))
            for rank, data in enumerate(inputs):
                native.fill_pattern(pattern, rank, data, COUNT, FIRST)
            native.combine(result, inputs, dtype, op, ranks if op is Redop.AVG else 0)
            assert reduced(gpu, pattern, result)[0] == 0
            verdict = reduced(gpu, pattern, damaged(result))
            assert verdict[0] > 0
            assert repr(verdict) == repr(native.check_reduced(pattern, damaged(result), COUNT, FIRST))
    for pattern in cases(dtype, kind):
        anything = damaged(bytearray(COUNT * dtype.bytes))
        verdict = reduced(gpu, pattern, anything)
        assert repr(verdict) == repr(native.check_reduced(pattern, anything, COUNT, FIRST))


def test_one_wrong_element_beyond_32_bits_of_index_is_found(gpu):
    pattern = native.Pattern(2, Dtype.UINT8, Redop.SUM, 5, PatternKind.EXACT)
    try:
        memory = native.GpuMemory(0, BEYOND_32_BITS + 100)
    except UnavailableError as error:
        pytest.skip(str(error))
    gpu.fill(pattern, 0, memory.pointer, BEYOND_32_BITS + 100)
    assert gpu.check_copied(pattern, 0, memory.pointer, BEYOND_32_BITS + 100)[0] == 0
    gpu.fill(pattern, 1, memory.pointer + BEYOND_32_BITS, 1, BEYOND_32_BITS)
    assert gpu.check_copied(pattern, 0, memory.pointer, BEYOND_32_BITS + 100)[:2] == (1, BEYOND_32_BITS)
