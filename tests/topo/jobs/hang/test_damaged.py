# SPDX-License-Identifier: Apache-2.0
"""Whatever is damaged, cut or mixed up in what a job left is read as far as it makes sense, or refused as bad input."""

import contextlib
import copy

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.topo.jobs.hang import ras, test_rank_log, test_ras
from tests.topo.jobs.hang.reading import dump, entry, up_to

from railgauge.topo.errors import InputError
from railgauge.topo.jobs.hang.flight_dump import FlightDumps
from railgauge.topo.jobs.hang.model import JobState
from railgauge.topo.jobs.hang.rank_log import RankLog
from railgauge.topo.jobs.hang.ras_json import read_ras_json
from railgauge.topo.jobs.hang.ras_text import RasText
from railgauge.topo.jobs.hang.verdict import verdict
from railgauge.topo.render.hang import hang_document, hang_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
DUMP = dump([*up_to(3, waits=3), entry(1, "send 0->1", "scheduled"), entry(2, "recv 0<-1", "started")], {"1": (0, 1)})
REPORT = ras.json_report([ras.json_rank(rank, {"AllReduce": rank}) for rank in range(3)], [ras.json_missing(3)], 4)
REPORTS = (
    "[Rank 0]: Ranks 3, 5 failed to pass monitoredBarrier in 30000 ms\n"
    "store based barrier on rank: 0, for key: x:1 (world_size=8, worker_count=7, timeout=0:30:00)\n"
    " - To our best knowledge, ranks [7] are the lagging ranks that caused this timeout.\n"
    "   They never joined any collectives\n"
    "   - [3] joined but didn't finish collective #41 (count from 1)\n"
    "     [0, 1, 2, ...] finished collective #41, but didn't join collective #42\n"
)
UNNAMED = "".join(errors for errors, _ in test_ras.UNNAMED.values())
WARNINGS = UNNAMED + ras.MISMATCH.format(where=ras.where(7)) + ras.OLD_MISMATCH.format(two=ras.where(2))
RAS_LINES = ras.text(ras.row("MISMATCH"), ras.row(status="INIT"), warnings=WARNINGS).splitlines()
LOG = REPORTS + "".join(test_rank_log.calls(rank, 3 + rank % 2) + test_rank_log.watchdog(rank) for rank in range(3))


def places(value, path=()):
    """The paths of all that is in a document."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from places(one, (*path, key))


def replaced(document, path, value):
    changed = copy.deepcopy(document)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if not path:
        return value
    place[path[-1]] = value
    return changed


def judge(scene):
    judged = verdict(scene)
    assert hang_document(scene, judged)["verdict"]
    assert isinstance(hang_text(scene), str)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(list(places(DUMP))[1:]), VALUES)
def test_a_flight_document(path, value):
    scene = JobState()
    reader = FlightDumps(scene)
    with contextlib.suppress(InputError):
        reader.read(replaced(DUMP, path, value), 0, "trace_0")
    reader.read(DUMP, 1, "trace_1")
    reader.close()
    judge(scene)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(list(places(REPORT))[1:]), VALUES)
def test_a_report_in_json(path, value):
    scene = JobState()
    with contextlib.suppress(InputError):
        read_ras_json(scene, replaced(REPORT, path, value), "ras.json")
    judge(scene)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(RAS_LINES) | st.text(max_size=30), max_size=40))
@example(
    [
        "#0-0 (c0ffee01) ERROR",
        "  Communicator ranks have different collective operation counts",
        "  4 ranks have status INIT",
    ]
)
def test_a_report_in_text(lines):
    scene = JobState()
    RasText(scene).read(lines)
    judge(scene)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_log(data):
    begin = data.draw(st.integers(0, len(LOG)))
    end = data.draw(st.integers(begin, len(LOG)))
    noise = data.draw(st.binary(max_size=20))
    log, scene = RankLog(), JobState()
    log.read([LOG[:begin].encode(), noise, LOG[end:].encode()])
    log.put(scene)
    judge(scene)


@pytest.mark.parametrize("depth", [10, 900])
def test_nested_values(depth):
    value = "x"
    for _ in range(depth):
        value = [value]
    with pytest.raises(InputError):
        FlightDumps(JobState()).read(replaced(DUMP, ("entries", 0, "profiling_name"), value), 0, "trace_0")
