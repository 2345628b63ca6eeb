# SPDX-License-Identifier: Apache-2.0
"""The tuning file: what is written is read again, and anything else is an error that says where and what to do."""

import json
from dataclasses import replace
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.transports.ranks import on_ranks

from railgauge.collectives.operation import NUMBERS
from railgauge.collectives.tuning import ALGORITHMS
from railgauge.collectives.tuning_file import (
    Timed,
    TuningPlace,
    measured_for,
    place_of,
    read_tuning,
    times_by_collective,
    tuning_document,
    tuning_file,
    with_measured,
)
from railgauge.topo.errors import InputError, RunError
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.transports.peer import this_peer

HERE = TuningPlace(machine="a machine", ranks=2, nodes=1, cores=2, memories=1)
ALL_REDUCE, ALL_GATHER = Collective.ALL_REDUCE, Collective.ALL_GATHER


def timed(collective=ALL_REDUCE, size=8, time_us=1.5):
    return Timed(collective=collective, algorithm=Algorithm.RING, bytes=size, time_us=time_us)


def timed_on_gpus(size=8):
    return replace(timed(size=size), protocol=Protocol.SIMPLE, blocks=64, chunk_bytes=32768)


def measured(bootstrap, environ):
    peers = [this_peer(rank) for rank in range(bootstrap.world_size)]
    return measured_for(bootstrap, lambda: place_of(peers), environ)


def written(path, tuning):
    path.write_text(json.dumps(tuning_document(tuning)))
    return str(path)


TIMED = st.builds(
    Timed,
    collective=st.sampled_from(list(NUMBERS)),
    algorithm=st.sampled_from(ALGORITHMS),
    bytes=st.integers(0, 1 << 40),
    time_us=st.floats(1e-3, 1e9),
    protocol=st.sampled_from([None, *Protocol]),
    blocks=st.integers(0, 128),
    chunk_bytes=st.integers(0, 1 << 20),
)
COUNTS = st.integers(1, 512)
PLACES = st.builds(TuningPlace, machine=st.text(max_size=20), ranks=COUNTS, nodes=COUNTS, cores=COUNTS, memories=COUNTS)


@settings(deadline=None)
@given(tuning=st.dictionaries(PLACES, st.lists(TIMED).map(tuple), max_size=3))
def test_what_is_written_is_read_again(tmp_path_factory, tuning):
    assert read_tuning(written(tmp_path_factory.mktemp("tuning") / "t.json", tuning)) == tuning


def test_the_file_is_as_its_schema_says():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((resources.files("railgauge") / "cli/schemas/tuning.json").read_text())
    document = tuning_document({HERE: (timed(), timed(ALL_GATHER, size=0), timed_on_gpus())})
    jsonschema.Draft202012Validator(schema).validate(document)
    rows = schema["properties"]["entries"]["items"]["properties"]["measured"]["items"]["properties"]
    assert rows["collective"]["enum"] == list(NUMBERS)
    assert rows["algorithm"]["enum"] == list(ALGORITHMS)
    assert rows.keys() == document["entries"][0]["measured"][2].keys()
    assert document["entries"][0]["measured"][0].keys() == {"collective", "algorithm", "bytes", "time_us"}


def test_a_new_measurement_replaces_what_it_measured_and_leaves_the_rest():
    elsewhere = replace(HERE, machine="another")
    before = {HERE: (timed(), timed(ALL_GATHER)), elsewhere: (timed(),)}
    after = with_measured(before, HERE, [timed(size=64)])
    assert after == {HERE: (timed(ALL_GATHER), timed(size=64)), elsewhere: (timed(),)}


def test_times_go_by_collective_algorithm_and_size():
    found = times_by_collective([timed(), timed(size=64, time_us=2.0), timed(ALL_GATHER)])
    assert found == {ALL_REDUCE: {Algorithm.RING: {8: 1.5, 64: 2.0}}, ALL_GATHER: {Algorithm.RING: {8: 1.5}}}


ENTRY = {"machine": "m", "ranks": 2, "nodes": 1, "cores": 2, "memories": 1}
RING = {"collective": "all_reduce", "algorithm": "ring"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no json", "from line 1, column 1 on"),
        (b"\xff\xfe\x00", "not UTF-8 text"),
        (b"[]", "indices"),
        (b'{"entries": []}', "'schema' is missing"),
        (b'{"schema": "railgauge/run/1"}', "'railgauge/run/1', not 'railgauge/tuning/1'"),
        (b'{"schema": "railgauge/tuning/1"}', "'entries' is missing"),
        ([ENTRY], "'measured' is missing"),
        ([ENTRY | {"measured": [{"collective": "all_reduce"}]}], "'algorithm' is missing"),
        ([ENTRY | {"measured": [RING | {"bytes": -1, "time_us": 1}]}], "-1 bytes"),
        ([ENTRY | {"measured": [RING | {"bytes": 8, "time_us": float("nan")}]}], "NaN is not a finite number"),
        ([ENTRY | {"measured": [RING | {"bytes": 8, "time_us": 0}]}], "0.0 us"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_another_file_is_an_error_that_says_why_and_what_to_do(tmp_path, content, says):
    path = tmp_path / "t.json"
    data = content if isinstance(content, bytes) else json.dumps({"schema": "railgauge/tuning/1", "entries": content})
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(InputError, match=r"t\.json: not a tuning file .*--tune") as caught:
        read_tuning(str(path))
    assert says in str(caught.value)


def test_fields_that_are_not_known_are_passed_over(tmp_path):
    document = tuning_document({HERE: (timed(),)})
    document["entries"][0]["measured"][0]["by"] = "somebody"
    for unknown in ({"algorithm": "magic"}, {"collective": "dance"}):
        document["entries"][0]["measured"].append(RING | {"bytes": 8, "time_us": 1} | unknown)
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document | {"more": 1}))
    assert read_tuning(str(path)) == {HERE: (timed(),)}


def test_an_empty_file_holds_nothing():
    assert read_tuning("/dev/null") == {}


def test_where_the_file_is():
    assert tuning_file({"HOME": "/home/me"}) == "/home/me/.cache/railgauge/tuning.json"
    assert tuning_file({"HOME": "/home/me", "XDG_CACHE_HOME": "/var/me"}) == "/var/me/railgauge/tuning.json"
    assert tuning_file({"HOME": "/home/me", "RAILGAUGE_TUNING_FILE": "mine.json"}) == "mine.json"


def test_rank_0_reads_for_all_and_only_what_is_of_these_ranks(tmp_path):
    place = place_of([this_peer(rank) for rank in range(3)])
    other = {name: getattr(place, name) + 1 for name in ("ranks", "nodes", "cores", "memories")}
    others = {replace(place, **{name: count}): (timed(size=count),) for name, count in other.items()}
    here = {place: (timed(), timed(ALL_GATHER))}
    ours = {"RAILGAUGE_TUNING_FILE": written(tmp_path / "t.json", others | {HERE: (timed(size=2),)} | here)}
    theirs = {"RAILGAUGE_TUNING_FILE": "/nowhere"}
    found = on_ranks(3, lambda bootstrap: measured(bootstrap, theirs if bootstrap.rank else ours))
    assert found == [(timed(), timed(ALL_GATHER))] * 3


def test_a_file_that_is_named_has_to_be_there_and_the_usual_one_not(tmp_path):
    assert on_ranks(1, lambda bootstrap: measured(bootstrap, {"HOME": str(tmp_path)})) == [()]
    (error,) = on_ranks(1, lambda bootstrap: measured(bootstrap, {"RAILGAUGE_TUNING_FILE": "/nowhere"}))
    assert isinstance(error, InputError)
    assert "/nowhere: cannot read it" in str(error)


def test_a_rank_0_of_another_version_is_told_apart():
    def body(bootstrap):
        if bootstrap.rank == 0:
            return bootstrap.broadcast([{"collective": "all_reduce"}], list)
        with pytest.raises(RunError, match="rank 0 sent an unexpected value to an exchange"):
            measured(bootstrap, {})
        return True

    assert on_ranks(2, body)[1] is True
