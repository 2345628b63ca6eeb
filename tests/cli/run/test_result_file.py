# SPDX-License-Identifier: Apache-2.0
"""Where a result goes: -o FILE, -J FILE, beside the operator that -o is as well; and what the help says of it."""

import json
import re
from xml.etree import ElementTree

import pytest
from tests.cli.command import SMALL, document, in_process, railgauge, refused, run

from railgauge.cli.run.result_file import ResultFile, parse_outputs, parse_tolerance
from railgauge.topo.errors import UsageError


@pytest.mark.parametrize(
    ("values", "redop", "paths"),
    [
        ([], "sum", []),
        (["max"], "max", []),
        (["a.svg", "max", "b/c.HTML"], "max", ["a.svg", "b/c.HTML"]),
        (["sum", "min"], "min", []),
        (["avg.json"], "sum", ["avg.json"]),
        (["svg"], "svg", []),
    ],
)
def test_o_is_an_operator_or_a_file_by_its_suffix(values, redop, paths):
    found, files = parse_outputs(values, "")
    assert (found, [file.path for file in files]) == (redop, paths)


def test_j_is_json_whatever_its_name():
    assert parse_outputs(["a.svg"], "b.txt")[1] == (ResultFile("a.svg", ".svg"), ResultFile("b.txt", ".json"))


@pytest.mark.parametrize("value", ["result.png", "a/b", "max.", "./sum"])
def test_a_name_that_is_neither_is_refused(value):
    with pytest.raises(UsageError, match="neither an operator nor a file"):
        parse_outputs([value], "")


@pytest.mark.parametrize("percent", [-1, 100, float("nan"), float("inf")])
def test_a_tolerance_is_a_part(percent):
    with pytest.raises(UsageError, match="--tolerance"):
        parse_tolerance(percent)


def test_all_formats_are_written_by_one_run(tmp_path):
    paths = {suffix: tmp_path / f"result.{suffix}" for suffix in ("svg", "html", "csv", "json")}
    flags = [word for path in paths.values() for word in ("-o", str(path))]
    shown = document("--ranks", "2", *SMALL, "-o", "max", *flags, "-J", str(tmp_path / "too"))
    assert {row["redop"] for row in shown["rows"]} == {"max"}
    assert json.loads(paths["json"].read_text()) == json.loads((tmp_path / "too").read_text()) == shown
    assert ElementTree.parse(paths["svg"]).getroot().tag.endswith("svg")
    assert paths["html"].read_text().startswith("<!doctype html>")
    assert len(paths["csv"].read_text().splitlines()) == 1 + len(shown["rows"])
    assert shown["planned_gb_per_s"] > 0


def test_a_folder_that_is_not_there_is_told_before_anything_runs(tmp_path):
    result = refused("--ranks", "2", *SMALL, "-o", str(tmp_path / "none" / "a.svg"))
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.count("\n") == 1
    assert f"there is no folder {tmp_path / 'none'}" in result.stderr


def test_a_failed_run_still_has_its_files(tmp_path):
    svg, data = tmp_path / "a.svg", tmp_path / "a.json"
    result = run("--ranks", "2", *SMALL, "--min-busbw", "1e6", "-o", str(svg), "-o", str(data))
    assert result.returncode == 4
    assert "failed: average bus bandwidth" in svg.read_text()
    assert json.loads(data.read_text())["status"] == "failed"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("all_reduce", "-o", "result.png"), "neither an operator nor a file name that ends in .svg"),
        (("all_reduce", "-o", "xor"), "unknown operator"),
        ((), "no collective given: use one of all_reduce"),
        (("all_reduce", "--compare", "old.json", "--tolerance", "100"), "percent"),
    ],
)
def test_usage_errors(args, words):
    result = in_process("run", *args)
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr


@pytest.mark.parametrize("collective", ["all_gather", "sendrecv", "reduce"])
def test_all_types_and_operators_of_any_collective(collective):
    result = railgauge(
        "run", collective, "--ranks", "2", "-b", "64", "-e", "64", "-n", "1", "-d", "all", "-o", "all", "--json"
    )
    rows = json.loads(result.stdout)["rows"]
    assert len(rows) == 12 * (5 if collective == "reduce" else 1)
    assert {row["out_of_place"]["wrong"] for row in rows} == {0}


def test_the_help_has_every_option_in_a_section():
    text = in_process("run", "--help").stdout
    titles = ["What:", "Sizes:", "How to measure:", "Ranks to start:", "Answer:", "Options of every command:"]
    assert [title for title in titles if f"\n{title}\n" not in text] == []
    for option in (*"beifnmwNcodrgtzGaCRTJx", "-list", "-compare", "-tolerance"):
        assert len(re.findall(rf"^  -{option}[, ]", text, re.MULTILINE)) == 1, option
