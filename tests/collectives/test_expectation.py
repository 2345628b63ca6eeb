# SPDX-License-Identifier: Apache-2.0
"""What each collective has to give, against NumPy on the ranks' inputs side by side."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.collectives.expectation import expected
from railgauge.collectives.operation import extent
from railgauge.topo.nccl.settings.algorithm import Collective

RANKS = st.integers(1, 9)
COUNTS = st.integers(0, 12)


def outcome(collective: Collective, inputs: np.ndarray, rank: int, root: int) -> np.ndarray | None:
    """What `rank` has afterwards; `inputs` is one row per rank, None what is not written."""
    ranks = len(inputs)
    match collective:
        case Collective.ALL_REDUCE:
            return inputs.sum(0)
        case Collective.REDUCE:
            return inputs.sum(0) if rank == root else None
        case Collective.REDUCE_SCATTER:
            return np.split(inputs.sum(0), ranks)[rank]
        case Collective.ALL_GATHER:
            return inputs.ravel()
        case Collective.GATHER:
            return inputs.ravel() if rank == root else None
        case Collective.ALL_TO_ALL:
            return inputs.reshape(ranks, ranks, -1).transpose(1, 0, 2)[rank].ravel()
        case Collective.BROADCAST:
            return inputs[root]
        case Collective.SCATTER:
            return np.split(inputs[root], ranks)[rank]
        case Collective.SEND_RECV:
            return np.roll(inputs, 1, axis=0)[rank]


@given(collective=st.sampled_from(Collective), ranks=RANKS, count=COUNTS, seed=st.integers(0, 99), data=st.data())
def test_the_pieces_put_together_are_what_numpy_gives(collective, ranks, count, seed, data):
    root, rank = (data.draw(st.integers(0, ranks - 1)) for _ in range(2))
    most = extent(collective, count, root, ranks, root)
    inputs = np.random.default_rng(seed).integers(0, 1 << 40, (ranks, most.source))
    result = np.full(most.destination, -1)
    for piece in expected(collective, rank=rank, ranks=ranks, count=count, root=root):
        source = inputs.sum(0) if piece.rank is None else inputs[piece.rank]
        target = result[piece.offset : piece.offset + piece.count]
        assert (target == -1).all(), "pieces overlap"
        target[:] = source[piece.index : piece.index + piece.count]
    want = outcome(collective, inputs, rank, root)
    assert result.tolist() == ([-1] * len(result) if want is None else want.tolist())


@pytest.mark.parametrize(
    ("collective", "factor"),
    [
        ("all_reduce", 1.5),
        ("all_gather", 0.75),
        ("reduce_scatter", 0.75),
        ("broadcast", 1.0),
        ("reduce", 1.0),
        ("alltoall", 0.75),
        ("gather", 0.75),
        ("scatter", 0.75),
        ("sendrecv", 1.0),
    ],
)
def test_bus_bandwidth_factors_are_those_of_nccl_tests(collective, factor):
    assert Collective(collective).factor(4) == factor
