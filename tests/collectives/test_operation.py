# SPDX-License-Identifier: Apache-2.0
"""The buffers of each rank, beside a table written from nccl-tests' definitions."""

import pytest

from railgauge.collectives.operation import Extent, extent
from railgauge.topo.nccl.settings.algorithm import Collective

RANKS, COUNT = 3, 5
WHOLE = RANKS * COUNT
AT_ROOT = {
    Collective.ALL_REDUCE: (COUNT, COUNT),
    Collective.ALL_GATHER: (COUNT, WHOLE),
    Collective.REDUCE_SCATTER: (WHOLE, COUNT),
    Collective.BROADCAST: (COUNT, COUNT),
    Collective.REDUCE: (COUNT, COUNT),
    Collective.ALL_TO_ALL: (WHOLE, WHOLE),
    Collective.GATHER: (COUNT, WHOLE),
    Collective.SCATTER: (WHOLE, COUNT),
    Collective.SEND_RECV: (COUNT, COUNT),
}
"""Elements of source and destination."""
ELSEWHERE = AT_ROOT | {
    Collective.BROADCAST: (0, COUNT),
    Collective.REDUCE: (COUNT, 0),
    Collective.GATHER: (COUNT, 0),
    Collective.SCATTER: (0, COUNT),
}
PARTS = {Collective.ALL_GATHER: (1, 0), Collective.REDUCE_SCATTER: (0, 1)}
"""Where in place a rank's part begins, in parts by rank: of the source in the destination, and the reverse."""
PARTS_OF_ROOT = {Collective.GATHER: (1, 0), Collective.SCATTER: (0, 1)}


@pytest.mark.parametrize("collective", list(Collective))
@pytest.mark.parametrize("root", range(RANKS))
@pytest.mark.parametrize("rank", range(RANKS))
def test_a_rank_has_the_buffers_of_the_table(collective, rank, root):
    if collective not in AT_ROOT:
        pytest.skip("its counts are given by rank")
    source, destination = (AT_ROOT if rank == root else ELSEWHERE)[collective]
    parts = PARTS | (PARTS_OF_ROOT if rank == root else {})
    source_at, destination_at = (part * rank * COUNT for part in parts.get(collective, (0, 0)))
    assert extent(collective, COUNT, rank, RANKS, root) == Extent(
        source=source, destination=destination, source_at=source_at, destination_at=destination_at
    )
