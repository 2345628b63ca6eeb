# SPDX-License-Identifier: Apache-2.0
"""Replay of a trace's operations: order, groups, sizes, and the verification of each."""

import time

import pytest
from tests.collectives.wiring import everybody
from tests.transports.ranks import on_ranks

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.host_bench import HostBench
from railgauge.collectives.replay import Replay, kind_of
from railgauge.topo.errors import UsageError
from railgauge.topo.jobs.traces.trace import TracedGroup, TracedOperation
from railgauge.topo.nccl.settings.algorithm import Collective


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "lo")


def operation(collective, elements, ranks, *, dtype="float", number=1, **more):
    group = TracedGroup(name=str(ranks), size=len(ranks), ranks=ranks)
    return TracedOperation(collective=collective, elements=elements, dtype=dtype, group=group, number=number, **more)


MIXED = (
    operation(Collective.ALL_REDUCE, 100, (0, 1, 2, 3), redop="max"),
    operation(Collective.ALL_GATHER, 64, (2, 0), dtype="bfloat16"),
    operation(Collective.BROADCAST, 33, (1, 3), dtype="int64", root=1),
    operation(Collective.ALL_REDUCE, 100, (0, 1, 2, 3), redop="max", measured_us=8.0),
    operation(Collective.SEND_RECV, 7, (3, 0), dtype="uint8"),
    operation(Collective.ALL_TO_ALL, 40, (0, 1, 2, 3)),
)


class Recorded(HostBench):
    """A bench that notes what it runs, and damages results on request."""

    def __init__(self, comm, largest, calls, *, damages=False, late_s=0.0):
        super().__init__(comm, largest, register=False)
        self._calls, self._damages, self._late_s = calls, damages, late_s

    def fill(self, case, pattern, *, in_place):
        """As in Bench."""
        super().fill(case, pattern, in_place=in_place)
        time.sleep(self._late_s)

    def repeat(self, case, *, in_place, ahead=0, times=1):
        """As in Bench."""
        self._calls.append((str(case.collective), case.bytes(self.size), self.size))
        return super().repeat(case, in_place=in_place, ahead=ahead, times=times)

    def verify(self, case, pattern, kind, *, in_place):
        """As in Bench."""
        if self._damages:
            self._view(case, in_place)[1][0] ^= 1
        return super().verify(case, pattern, kind, in_place=in_place)


def replayed(operations, *, damages=None, late_s=0.0, warmup=0, ranks=4):
    def body(bootstrap):
        comm, calls = Communicator(bootstrap, everybody(bootstrap), [list(range(ranks))]), []

        def bench_of(members, largest):
            color = 0 if comm.rank in members else None
            part = comm.split(color, members.index(comm.rank) if color == 0 else 0)
            late = late_s if comm.rank == 0 else 0.0
            return part and Recorded(part, largest, calls, damages=comm.rank == damages, late_s=late)

        replay = Replay(operations, bootstrap, bench_of)
        rows = replay.run(warmup=warmup, check=True)
        comm.close()
        return rows, calls, replay.first_wrong

    return on_ranks(ranks, body)


def test_each_rank_runs_its_operations_in_their_order_and_sizes():
    for rank, (_, calls, wrong) in enumerate(replayed(MIXED)):
        own = [one for one in MIXED if rank in one.group.ranks]
        assert calls == [(str(one.collective), one.bytes, one.group.size) for one in own]
        assert wrong is None


def test_rows_are_the_kinds_with_their_times():
    rows = replayed(MIXED)[0][0]
    assert [(row.collective, row.bytes, row.ranks, row.times, row.wrong) for row in rows] == [
        ("all_reduce", 400, [0, 1, 2, 3], 2, 0),
        ("all_gather", 128, [2, 0], 1, 0),
        ("broadcast", 264, [1, 3], 1, 0),
        ("sendrecv", 7, [3, 0], 1, 0),
        ("alltoall", 160, [0, 1, 2, 3], 1, 0),
    ]
    assert [(row.redop, row.root, row.traced_us) for row in rows][:3] == [
        ("max", -1, 8.0), ("none", -1, None), ("none", 1, None)
    ]  # fmt: skip
    assert all(row.time_us > 0 and row.busbw_gb_per_s > 0 and row.forecast_us for row in rows)


def test_the_first_of_a_kind_runs_before_untimed():
    _, calls, _ = replayed(MIXED[:1] + MIXED[3:4], warmup=1)[0]
    assert len(calls) == 3


def test_a_rank_that_is_late_costs_no_time():
    late_s = 1.0
    (row,) = replayed(MIXED[:1], late_s=late_s)[0][0]
    assert row.time_us < late_s * 1e6 / 4


def test_a_wrong_element_is_found_and_named_on_all_ranks():
    found = replayed(MIXED, damages=2)
    assert {wrong for _, _, wrong in found} == {found[0][2]}
    assert found[0][2].startswith("operation 1 of the trace, all_reduce (float max) of 4 ranks: rank 2: ")
    assert {row.collective: row.wrong > 0 for row in found[0][0]} == {
        "all_reduce": True, "all_gather": True, "broadcast": False, "sendrecv": False, "alltoall": True
    }  # fmt: skip


def test_parts_are_rounded_up_to_whole_elements():
    assert kind_of(operation(Collective.ALL_TO_ALL, 41, (0, 1, 2, 3))).case.count == 11


def test_too_few_ranks_are_an_error_with_the_number_needed():
    for error in replayed(MIXED, ranks=2):
        assert isinstance(error, UsageError)
        assert "use --ranks 4" in str(error)
