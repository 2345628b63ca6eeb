# SPDX-License-Identifier: Apache-2.0
import contextlib
import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.collectives.results import result, row

from railgauge.collectives.result_file import load
from railgauge.topo.errors import InputError

DOCUMENT = result(row(8), row(16, root=1, redop="none"), error="too slow")


@pytest.fixture
def written(tmp_path):
    def write(document):
        path = tmp_path / "old.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return str(path)

    return write


def test_what_was_written_is_read(written):
    assert load(written(DOCUMENT.to_json())) == DOCUMENT


def test_without_rows_there_is_no_average():
    assert replace(DOCUMENT, rows=[]).to_json()["avg_busbw_gb_per_s"] is None


def test_a_result_of_an_older_version_lacks_what_came_later(written):
    document = DOCUMENT.to_json()
    del document["planned_gb_per_s"]
    assert load(written(document)).planned_gb_per_s is None


def test_fields_that_are_not_known_are_passed_over(written):
    document = DOCUMENT.to_json()
    document["later"] = document["rows"][0]["later"] = {"x": 1}
    assert load(written(document)) == DOCUMENT


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a result of a run"),
        ('{"schema": "railgauge/diff/1"}', "not a result of a run"),
        ('{"schema": "railgauge/run/1"}', "collective is not a text"),
    ],
)
def test_what_is_no_result_is_said(written, text, words):
    path = written(text)
    with pytest.raises(InputError, match=words) as caught:
        load(path)
    assert str(caught.value).startswith(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot read it"):
        load(str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("rows",), {}, "rows is not a list"),
        (("rows", 1), 3, r"rows\[1\] is not an object"),
        (("rows", 0, "bytes"), "8", r"rows\[0\]\.bytes is not an integer"),
        (("rows", 0, "bytes"), True, r"rows\[0\]\.bytes is not an integer"),
        (("rows", 0, "bytes"), 10**400, "out of range"),
        (("rows", 0, "in_place", "time_us"), float("nan"), "NaN is not a finite number"),
        (("rows", 0, "in_place", "time_us"), 1e300, "out of range"),
        (("rows", 0, "in_place", "time_us"), 10**400, "not a result of a run"),
        (("rows", 0, "in_place", "wrong"), "x", "not an integer or null"),
        (("connections", 0, "from"), None, r"connections\[0\]\.from is not an integer"),
        (("command", 0), 1, r"command\[0\] is not a text"),
    ],
)
def test_a_field_that_does_not_fit_is_named(written, place, value, words):
    document = copy.deepcopy(DOCUMENT.to_json())
    inner = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with pytest.raises(InputError, match=words):
        load(written(document))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(sorted(DOCUMENT.to_json()))


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(FIELDS, JSON, max_size=3),
    st.dictionaries(st.sampled_from(sorted(DOCUMENT.to_json()["rows"][0])), JSON),
)
def test_any_value_is_read_or_refused(tmp_path_factory, changes, in_row):
    document = copy.deepcopy(DOCUMENT.to_json())
    document["rows"][0] |= in_row
    path = tmp_path_factory.mktemp("old") / "old.json"
    path.write_text(json.dumps(document | changes))
    with contextlib.suppress(InputError):
        load(str(path))
