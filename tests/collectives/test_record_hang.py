# SPDX-License-Identifier: Apache-2.0
"""A flight record of a run names the rank that held it up as `log hang` tells it."""

import json

import pytest

from railgauge.collectives.record import SCHEMA, make_record
from railgauge.collectives.record_hang import read_record
from railgauge.topo.jobs.hang.model import JobState, State
from railgauge.topo.jobs.hang.verdict import verdict
from railgauge.transports.standing import BlockedOn, Operation, Standing


def operation(number, *, over=True, collective="all_reduce", count=1024):
    return Operation(number, collective, count, "float", "sum", -1, "ring", 1, 1763733731.5, 10.0 if over else -1.0)


def judged(standings, ranks=4, error=None):
    scene = JobState()
    record = make_record(standings, ranks, error, "vm", ["run", "all_reduce"])
    read_record(scene, json.dumps(record.to_json()).encode(), SCHEMA)
    return verdict(scene), scene


def standing(*operations, on=-1):
    return [Standing(0, [0, 1, 2, 3], list(operations), BlockedOn(on))]


def waits(number):
    return standing(operation(number - 1), operation(number, over=False), on=3)


def test_the_rank_behind_is_named():
    found, _ = judged({rank: waits(7) for rank in range(3)} | {3: standing(operation(6))})
    assert [finding.id for finding in found.findings] == ["rank-behind"]
    assert found.text == (
        "rank 3 has not entered all_reduce #7 (communicator 0 (of all ranks), 4 ranks); ranks 0-2 wait in it since "
        "2025-11-21T14:02:11Z; its last call: all_reduce #6"
    )


def test_a_rank_that_could_not_be_reached_is_named():
    found, scene = judged({rank: waits(7) for rank in range(3)}, error="rank 3 is gone")
    assert [finding.id for finding in found.findings] == ["rank-missing"]
    assert found.text.startswith("rank 3 of communicator 0 (of all ranks), 4 ranks: not answering")
    assert list(scene.notes) == [
        "the run ended: rank 3 is gone",
        "state of the ranks: ranks 0-2 wait in all_reduce #7 for rank 3, which does not answer",
    ]


def test_counts_that_differ_are_told():
    standings = {rank: standing(operation(7, over=False)) for rank in range(3)}
    found, _ = judged(standings | {3: standing(operation(7, over=False, count=512))})
    assert (
        "rank 3 called all_reduce of 512 float, sum; ranks 0-2 called all_reduce of 1024 float, sum: counts"
        in found.text
    )


def test_a_run_that_ended_well_hangs_nowhere():
    found, _ = judged({rank: standing(operation(6), operation(7)) for rank in range(4)})
    assert (found.findings, found.text.startswith("nothing hangs")) == ((), True)


@pytest.mark.parametrize("over", [True, False])
@pytest.mark.parametrize("error", [None, "rank 3 is gone"])
@pytest.mark.parametrize("root", [-1, 0, 2])
def test_a_call_is_as_it_was_recorded(over, error, root):
    _, scene = judged({0: standing(operation(7, over=over)._replace(root=root))}, error=error)
    (comm,) = scene.communicators.values()
    call = comm.lane().tracks[0].calls[7]
    assert (call.name, call.elements, call.dtype, call.op) == ("all_reduce", 1024, "float", "sum")
    assert call.state is (State.COMPLETED if over else State.STARTED)
    assert call.root == (None if root < 0 else root)
    assert call.timed_out == (error is not None and not over)
    assert call.since == "2025-11-21T14:02:11Z"
