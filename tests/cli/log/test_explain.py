# SPDX-License-Identifier: Apache-2.0
"""`railgauge log explain`: a flight record of a run, and files that are none."""

import json

import pytest
from tests.cli.command import railgauge, run


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("run") / "record.json")
    assert run("--ranks", "2", "-b", "4K", "-e", "4K", "-n", "2", "--record", path).returncode == 0
    return path


def test_a_record_is_told_as_text(record):
    result = railgauge("log", "explain", record)
    assert (result.returncode, result.stderr) == (0, "")
    assert "ended: well" in result.stdout
    assert "all_reduce of 1024 float, sum, by one-shot: ranks 0 and 1 done" in result.stdout


def test_as_json_it_is_what_was_written(record):
    result = railgauge("log", "explain", record, "--json")
    assert result.returncode == 0
    with open(record, encoding="utf-8") as file:
        assert json.loads(result.stdout) == json.load(file)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("gpu-01:7:7 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n", "NCCL's logs are not read yet"),
        ("", "is no flight record"),
        ('{"schema": "railgauge/run/1"}', "its schema is not railgauge/record/1"),
        ('{"schema": ', "is no JSON"),
    ],
)
def test_another_file_is_bad_input(tmp_path, content, words):
    path = tmp_path / "file"
    path.write_text(content)
    result = railgauge("log", "explain", str(path))
    assert (result.returncode, result.stdout) == (5, "")
    assert f"railgauge log: {path}: " in result.stderr
    assert words in result.stderr


def test_a_file_that_is_not_there_is_bad_input(tmp_path):
    result = railgauge("log", "explain", str(tmp_path / "none"))
    assert result.returncode == 5
    assert "none: cannot read it: No such file or directory" in result.stderr
