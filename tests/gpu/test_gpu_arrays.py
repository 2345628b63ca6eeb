# SPDX-License-Identifier: Apache-2.0
"""A rank's arrays on its GPU: nothing passes that was not written, and what a collective has to leave does."""

import functools

import pytest

from railgauge._native import collectives as native
from railgauge.collectives.case import OperationCase
from railgauge.collectives.dtype import Dtype, PatternKind, Redop
from railgauge.collectives.expectation import expected
from railgauge.collectives.gpu_arrays import GpuArrays
from railgauge.collectives.operation import IN_PLACE, NUMBERS, REDUCING
from railgauge.topo.errors import UnavailableError

RANK, RANKS, COUNT = 1, 3, 1000
LARGEST = RANKS * COUNT * 4
ALLOCATE = functools.partial(native.GpuMemory, 0)


@pytest.mark.parametrize("collective", [c for c in NUMBERS if c not in REDUCING])
@pytest.mark.parametrize("in_place", [False, True])
def test_a_destination_is_wrong_until_it_has_all_pieces(gpu, collective, in_place):
    if in_place and collective not in IN_PLACE:
        pytest.skip(f"{collective} does not run in place")
    case = OperationCase(collective=collective, count=COUNT, dtype=Dtype.FLOAT, op=Redop.SUM, root=RANK)
    pattern = native.Pattern(RANKS, case.dtype, case.op, 1, PatternKind.RANDOM)
    arrays = GpuArrays(0, LARGEST, RANK, RANKS, ALLOCATE)
    arrays.fill(case, pattern, in_place=in_place)
    _, destination = arrays.pointers(case, in_place=in_place)
    pieces = expected(collective, rank=RANK, ranks=RANKS, count=COUNT, root=RANK)
    for piece in pieces:
        if not in_place or piece.rank != RANK:
            assert arrays.verify(case, pattern, PatternKind.RANDOM, in_place=in_place).wrong >= COUNT
        at = destination + piece.offset * case.dtype.bytes
        gpu.fill(pattern, piece.rank, at, piece.count, piece.index)
    assert arrays.verify(case, pattern, PatternKind.RANDOM, in_place=in_place).wrong == 0


def test_an_array_that_no_gpu_can_hold_is_refused(gpu):
    with pytest.raises(UnavailableError, match="taking 1125899906842624 bytes"):
        GpuArrays(0, 1 << 50, RANK, RANKS, ALLOCATE)
