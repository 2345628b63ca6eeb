# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.gpu.kinds`: two GPUs' bools, complex numbers and integers of 16 bits, beside what NumPy makes of
them.
"""

import numpy as np
import pytest
from tests.gpu.on_gpu import OnGpu, connected
from tests.transports.ranks import on_ranks

from railgauge.collectives.dtype import Bitwise, PreMulSum, Redop
from railgauge.topo.errors import UsageError
from railgauge.transports.bootstrap import Bootstrap


def body(bootstrap: Bootstrap) -> None:
    comm = connected(bootstrap)
    on, rank = OnGpu(comm), comm.rank
    bools = [np.array(one) for one in ([False, False, True, True], [False, True, False, True])]
    complexes = [np.array([1 + 2j, 3 - 1j], kind) for kind in ("complex64", "complex128")]
    shorts = np.array([-300 * (rank + 1), 7], np.int16)
    for op, wanted in (
        (Redop.SUM, bools[0] | bools[1]),
        (Redop.MAX, bools[0] | bools[1]),
        (Redop.PROD, bools[0] & bools[1]),
        (Redop.MIN, bools[0] & bools[1]),
    ):
        on.all_reduce(array := bools[rank].copy(), array, op)
        assert array.tobytes() == wanted.tobytes()  # a byte of 2 would be true as well
    for one in complexes:
        for op, factor in ((Redop.SUM, 3), (Redop.AVG, 1.5)):
            on.all_reduce(array := one * (rank + 1), array, op)
            assert array.tolist() == (one * factor).tolist()
        on.alltoallv(one * (rank + 1), [1, 1], into := np.zeros_like(one), [1, 1])
        assert into.tolist() == [one[rank], one[rank] * 2]
    on.all_gather(shorts, into := np.zeros(4, np.int16))
    assert into.tolist() == [-300, 7, -600, 7]
    for array, op in (
        (bools[0], Redop.AVG),
        (complexes[0], Redop.MAX),
        (shorts, Redop.SUM),
        (bools[0], PreMulSum(2)),
        (shorts, PreMulSum(2)),
        (np.zeros(1, np.uint8), Bitwise.BAND),
    ):
        with pytest.raises(UsageError, match=r"not possible in the memory of GPUs|for host memory"):
            on.all_reduce(array, array, op)
    scaled(on)
    with pytest.raises(UsageError, match="the same type"):
        on.all_gather(bools[0], np.zeros(8, np.uint8))
    bootstrap.barrier()
    comm.close()


def scaled(on: OnGpu) -> None:
    """Each rank's factor of its own; sources stay, and may be longer than what is multiplied at a time."""
    factors, rank = (0.5, 3), on.rank
    for dtype, count in (("float16", 1001), ("float32", (1 << 19) + 5), ("int32", 30), ("complex64", 7)):
        ops = [PreMulSum(2 if dtype == "int32" else factor) for factor in factors]
        inputs = [(np.arange(count * 2) % 64 + one).astype(dtype) for one in (0, 2)]
        total = sum(one * np.dtype(dtype).type(op.factor) for one, op in zip(inputs, ops, strict=True))
        source = inputs[rank].copy()
        on.reduce_scatter(source, into := np.zeros(count, dtype), ops[rank])
        assert (into == total[rank * count : (rank + 1) * count]).all()
        if count > 1 << 19:
            continue
        on.all_reduce(source, into := np.zeros_like(source), ops[rank])
        assert (into == total).all()
        on.reduce(source, None if rank else into.fill(0) or into, ops[rank], 0)
        assert rank or (into == total).all()
        assert (source == inputs[rank]).all()
        on.all_reduce(source, source, ops[rank])
        assert (source == total).all()
    with pytest.raises(UsageError, match="not a number of the elements' type"):
        on.all_reduce(np.zeros(3, np.uint8), np.zeros(3, np.uint8), PreMulSum(0.5))


if __name__ == "__main__":
    for told in on_ranks(2, body, 60):
        if isinstance(told, BaseException):
            raise told
