# SPDX-License-Identifier: Apache-2.0
"""One list of all ranks' operations: each once, in an order that every rank can follow."""

from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.jobs.traces.merge import merged
from railgauge.topo.jobs.traces.trace import Trace, TracedGroup, TracedOperation
from railgauge.topo.nccl.settings.algorithm import Collective


def operation(ranks, number, elements=8, **more):
    group = TracedGroup(name=str(ranks), size=len(ranks), ranks=ranks)
    return TracedOperation(
        collective=Collective.ALL_REDUCE, elements=elements, dtype="float", group=group, number=number, **more
    )


@given(st.lists(st.sets(st.integers(0, 4), min_size=2), max_size=12))
def test_each_operation_once_and_each_ranks_order_is_kept(groups):
    trace = Trace()
    for number, ranks in enumerate(groups):
        for rank in sorted(ranks):
            trace.add(rank, operation(tuple(sorted(ranks)), number), "file")
    found = merged(trace)
    assert sorted(one.number for one in found) == list(range(len(groups)))
    for rank, own in trace.by_source.items():
        assert [one.number for one in found if rank in one.group.ranks] == [one.number for one in own]


def test_ranks_that_disagree_about_the_order_lose_nothing():
    trace = Trace()
    one, other = operation((0, 1), 1), operation((0, 1, 2), 1)
    for rank, own in ((0, (one, other)), (1, (other, one)), (2, (other,))):
        for each in own:
            trace.add(rank, each, "file")
    assert merged(trace) == [one, other]


def test_operations_of_one_number_are_several():
    trace = Trace()
    for rank in (0, 1):
        trace.add(rank, operation((0, 1), 5, 8), "file")
        trace.add(rank, operation((0, 1), 5, 16), "file")
    assert [one.elements for one in merged(trace)] == [8, 16]


def test_the_larger_size_counts_where_ranks_differ():
    trace = Trace()
    trace.add(0, operation((0, 1), 1, 8, measured_us=4.0), "file")
    trace.add(1, operation((0, 1), 1, 9, step=2), "file")
    (one,) = merged(trace)
    assert (one.elements, one.measured_us, one.step) == (9, 4.0, 2)
