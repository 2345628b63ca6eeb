# SPDX-License-Identifier: Apache-2.0
"""Groups of ranks on the GPUs of equal nodes."""

import pytest

from railgauge.topo.errors import UsageError
from railgauge.topo.jobs.bill.placement import machine_of, placement
from railgauge.topo.jobs.traces.trace import TracedGroup
from railgauge.topo.machine import load_machine


def group(*ranks, size=None):
    return TracedGroup(name="g", size=len(ranks) if size is None else size, ranks=ranks)


@pytest.mark.parametrize(
    ("ranks", "nodes", "gpus"),
    [
        (range(4, 8), 1, (4, 5, 6, 7)),
        (range(8, 12), 1, (0, 1, 2, 3)),
        ((3, 11), 2, (3,)),
        (range(16), 2, tuple(range(8))),
        ((0, 4, 8, 12), 2, (0, 4)),
    ],
)
def test_ranks_are_placed_node_by_node(ranks, nodes, gpus):
    found = placement(group(*ranks), 8, 2)
    assert (found.nodes, found.gpus, found.assumed) == (nodes, gpus, "")


def test_what_the_forecast_assumes_is_said():
    assert "not the same GPUs" in placement(group(0, 12), 8, 2).assumed
    uneven = placement(group(*range(12)), 8, 2)
    assert (uneven.nodes, uneven.gpus) == (2, (0, 1, 2, 3, 4, 5))
    assert uneven.assumed == "8 + 4 ranks a node; forecast as 2 x 6"
    unknown = placement(group(size=4), 8, 1)
    assert (unknown.gpus, unknown.assumed) == ((0, 1, 2, 3), "ranks of the group unknown: 0 to 3 assumed")


def test_too_few_nodes_are_an_error_with_the_number_that_fits():
    with pytest.raises(UsageError, match="give --nodes 4"):
        placement(group(0, 25), 8, 2)


def test_a_machine_with_some_gpus_keeps_their_names():
    machine = machine_of(load_machine("@dgx-h100"), (2, 5))
    assert [gpu.dev for gpu in machine.system.gpus] == [2, 5]
