# SPDX-License-Identifier: Apache-2.0
"""`gdr check` on every recorded and described machine: outputs that are kept, and what holds for all of them."""

import json
from pathlib import Path

import pytest
from tests.topo.test_fixtures import FIXTURES, SAMPLES, WHOLE
from typer.testing import CliRunner

from railgauge.cli.gdr.commands import app

RECORDED_ELSEWHERE = [path for pattern in ("*.tar.*", "h200x4/topo.xml") for path in sorted(SAMPLES.glob(pattern))]
OFF = "NCCL_NET_GDR_LEVEL=LOC"  # a GPU and a NIC are never one device


def check(source: str, *options: str) -> str:
    command = ["check", "--from", source, *options]
    result = CliRunner().invoke(app, command, env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert result.exit_code in (0, 1), result.output
    return result.stdout


def records(source: str, *options: str) -> list[dict[str, object]]:
    return json.loads(check(source, "--json", *options))["findings"]


@pytest.mark.parametrize("name", WHOLE)
def test_answers_are_the_expected_ones(name, expect):
    expect(FIXTURES / name / "expected" / "gdr.txt", check(f"@{name}"))


@pytest.mark.parametrize("name", WHOLE)
def test_no_byte_was_moved_and_nothing_passes_where_it_is_off(name):
    for found in records(f"@{name}"):
        evidence = found["evidence"]
        if found["id"] != "gpu-direct-rdma" or not evidence:
            continue
        assert evidence["transfer_tried"] is False
        both = [evidence[way]["used"] for way in ("send", "receive")]
        assert found["level"] != "PASS" or all(both)
    for found in records(f"@{name}", "--set", OFF):
        assert found["level"] != "PASS"


@pytest.mark.parametrize("path", RECORDED_ELSEWHERE, ids=lambda path: path.name)
def test_samples_have_an_answer(path: Path):
    found = records(str(path))
    assert found
    assert {one["level"] for one in found} <= {"PASS", "INFO", "UNKNOWN", "WARN", "FAIL"}
