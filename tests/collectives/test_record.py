# SPDX-License-Identifier: Apache-2.0
"""The flight record: what the engine keeps, the document, and the text made from it."""

import json
import re
import time
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.collectives.wiring import everybody, over_rings
from tests.patience import HANGS_AFTER_S
from tests.transports.ranks import on_ranks
from tests.transports.standings import at, called, idle

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.dtype import Redop
from railgauge.collectives.record import gather, make_record, parse_record
from railgauge.collectives.report.record import record_text
from railgauge.topo.errors import InputError, PeerLostError, RunError
from railgauge.topo.values.printable import printable

STANDINGS = st.builds(
    at,
    collective=st.sampled_from(["all_reduce", "gather"]),
    number=st.integers(1, 300),
    waits_for=st.integers(-1, 5),
    frees_slot=st.booleans(),
    took_us=st.sampled_from([-1.0, 0.0, 12.5]),
    op=st.sampled_from(["", "sum"]),
    root=st.integers(-1, 3),
) | st.just(idle())
RECORDS = st.builds(
    make_record,
    st.dictionaries(st.integers(0, 5), st.lists(STANDINGS, max_size=2)),
    ranks=st.just(6),
    error=st.none() | st.text(),
    host=st.text(),
    command=st.lists(st.text(), max_size=3),
)
COARSE_S = 0.02
"""By which a short operation's begin may be off (collectives/native/recorder.h)."""
LATE = {
    0: [at("all_reduce", 41, 2, count=1024)],
    1: [at("all_reduce", 41, 0, count=1024)],
    2: [called("broadcast", 40, op="", root=0)],
}


def test_the_engine_keeps_what_was_called_in_order():
    before = time.time() - COARSE_S

    def body(bootstrap):
        comm = Communicator(bootstrap, everybody(bootstrap), [[0, 1]])
        buffer = np.ones(1 << 20, np.float32)
        comm.all_reduce(buffer, op=Redop.MAX)
        comm.broadcast(buffer[:3], root=1)
        comm.sendrecv(buffer[:5], np.ones(5, np.float32))
        return gather(bootstrap)

    first, second = on_ranks(2, body)
    assert first == second
    kept = first[1][0].operations
    assert [(o.number, o.collective, o.elements, o.dtype, o.op, o.root) for o in kept] == [
        (1, "all_reduce", 1 << 20, "float", "max", -1),
        (2, "broadcast", 3, "float", "", 1),
        (3, "sendrecv", 5, "float", "", -1),
    ]
    assert all(o.is_over for o in kept)
    assert kept[0].took_us > 0
    assert before <= kept[0].began_s <= kept[2].began_s + COARSE_S
    assert kept[0].began_s + kept[0].took_us / 1e6 <= time.time() + COARSE_S
    assert first[0][0].ranks == [0, 1]


def test_an_operation_that_does_not_go_on_tells_where_it_is():
    seen = {}

    def body(bootstrap):
        comm = over_rings(bootstrap, [[0, 1]], "SHM")
        comm.all_reduce(np.ones(8, np.float32))
        if bootstrap.rank == 0:
            with pytest.raises(PeerLostError, match="rank 1 did not take part"):
                comm.all_reduce(np.ones(8, np.float32))
            seen[0] = bootstrap.standings()[0]
        else:
            bootstrap.wait_for_failure(RunError("nobody told"), limit_s=HANGS_AFTER_S)

    on_ranks(2, body, timeout_s=5.0)
    assert seen[0].running.number == 2
    assert seen[0].running.algorithm == "ring"
    assert seen[0].blocked_on[:3] == (1, False, 0)


def test_the_last_ones_are_kept():
    def body(bootstrap):
        comm = Communicator(bootstrap, everybody(bootstrap), [[0]])
        for _ in range(300):
            comm.barrier()
        return [each.number for each in bootstrap.standings()[0].operations]

    assert on_ranks(1, body) == [list(range(300 - 128 + 1, 301))]


@given(RECORDS)
def test_a_record_that_was_written_is_read_back(record):
    assert read_back(record.to_json()).to_json() == record.to_json()


@given(RECORDS)
def test_any_record_has_a_text_that_does_not_steer_the_terminal(record):
    text = record_text(record)
    assert printable(text) == text


@given(RECORDS)
def test_a_record_is_as_its_schema_says(record):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((resources.files("railgauge") / "cli/schemas/record.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(record.to_json())


def test_the_text_says_who_waits_for_whom_and_what_came_before():
    text = record_text(make_record(LATE, 4, "rank 2 did not take part", "gpu-01", ["run", "all_reduce"]))
    assert "ended: rank 2 did not take part" in text
    assert (
        "stood: ranks 0 and 1 wait in all_reduce #41 for rank 2, which has called no collective since broadcast #40"
        in text
    )
    assert "rank 0  in all_reduce #41 of 1024 float, sum, by ring, begun 01:46:40.000: waits on channel 0" in text
    assert "rank 2  in no collective; last: broadcast #40" in text
    assert "rank 3  could not be reached" in text
    assert "#40  01:46:40.000  broadcast of 64 float, root 0, by ring: rank 2 done in 12.5 us" in text
    assert "#41  01:46:40.000  all_reduce of 1024 float, sum, by ring: ranks 0 and 1 not" in text


def test_a_rank_that_has_called_nothing_is_told():
    text = record_text(make_record({0: LATE[0], 1: [idle()]}, 2, None, "gpu-01", ["run", "all_reduce"]))
    assert "rank 1  had called no collective\n" in text


def test_of_operations_that_were_not_timed_the_text_gives_no_time():
    text = record_text(make_record({0: [called("barrier", 5, took_us=0.0)]}, 1, None, "gpu-01", ["run"]))
    assert re.search(r"#5 .*: rank 0 done$", text, re.MULTILINE), text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "is not a flight record: its schema"),
        ('{"schema": "railgauge/run/1"}', "is not a flight record: its schema"),
        ('{"schema": "railgauge/record/1"}', "lacks the field 'standings'"),
    ],
)
def test_another_file_is_refused(text, problem):
    with pytest.raises(InputError, match=rf"file\.json: {problem}"):
        parse_record(text.encode(), "file.json")


PLACES = [
    ("standings",),
    ("ranks",),
    ("command",),
    ("standings", 0, "communicators"),
    ("standings", 0, "communicators", 0, "id"),
    ("standings", 0, "communicators", 0, "waits"),
    ("standings", 0, "communicators", 0, "operations"),
    ("standings", 0, "communicators", 0, "operations", 0, "number"),
    ("standings", 0, "communicators", 0, "operations", 0, "over"),
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
@pytest.mark.parametrize("value", ["text", 7.5, [3], {"a": 1}], ids=repr)
def test_a_value_of_another_kind_is_an_error(place, value):
    document = make_record(LATE, 3, None, "gpu-01", []).to_json()
    spot = document
    for step in place[:-1]:
        spot = spot[step]
    spot[place[-1]] = value
    with pytest.raises(InputError, match=r"is not a flight record|lacks the field"):
        read_back(document)


def read_back(document):
    return parse_record(json.dumps(document).encode(), "record.json")
