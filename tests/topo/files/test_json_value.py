# SPDX-License-Identifier: Apache-2.0
"""No input and no document has a number that JSON cannot spell."""

import json
import math

import pytest
from tests.cli.command import in_process

from railgauge.cli.output import json_text
from railgauge.topo.files.json_value import json_value

NOT_FINITE = ["NaN", "Infinity", "-Infinity", "1e999", "-1e400"]


@pytest.mark.parametrize("text", NOT_FINITE)
def test_a_number_that_is_not_finite_is_no_json(text):
    with pytest.raises(ValueError, match="is not a finite number"):
        json_value(f'{{"a": [{text}]}}')
    assert json_value("[1.5, 2, -1e300]") == [1.5, 2, -1e300]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON: it is empty"),
        (b"{\n  x", "not JSON: from line 2, column 3 on"),
        ("[1, 2] 3", "not JSON: from line 1, column 8 on"),
        (b'"\xff"', "not JSON: it is not UTF-8 text"),
        (b"[" * 100_000, "nested too deeply"),
        (b"9" * 5000, "a number of thousands of digits"),
    ],
)
def test_what_is_no_json_is_said_in_our_words(data, says):
    with pytest.raises(ValueError, match="not JSON") as caught:
        json_value(data)
    assert says in str(caught.value)


@pytest.mark.parametrize("text", NOT_FINITE)
@pytest.mark.parametrize(
    "command",
    [("check", "--from", "@laptop", "--against"), ("log", "hang")],
    ids=lambda command: command[0],
)
def test_a_file_with_such_a_number_is_bad_input(tmp_path, text, command):
    document = {"schema": "railgauge/findings/1", "communicators": [], "findings": [], "x": "HERE"}
    file = tmp_path / "old.json"
    file.write_text(json.dumps(document).replace('"HERE"', text))
    done = in_process(*command, str(file))
    assert done.returncode == 5
    assert "is not a finite number" in done.stderr


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("indent", [None, 1])
def test_no_document_is_written_with_it(value, indent):
    with pytest.raises(ValueError, match="JSON"):
        json_text({"b": [1.0, {"c": value}]}, indent)
    assert json.loads(json_text({"a": "NaN"}, indent)) == {"a": "NaN"}
