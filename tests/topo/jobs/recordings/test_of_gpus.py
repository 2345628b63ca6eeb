# SPDX-License-Identifier: Apache-2.0
"""Recordings of PyTorch jobs on two H200s (NCCL 2.28.9, NVLink multicast off), 80 all-reduces of 1 and 16 MiB each: a
healthy one, one whose rank 1 sleeps 20 ms before every second one, one over sockets between two host ids, and one whose
rank 1 does not enter the eleventh.
"""

import json
import lzma
from pathlib import Path

import pytest
from tests.cli.command import in_process

HERE = Path(__file__).parent / "h200"


@pytest.fixture
def reported(tmp_path):
    def report(name):
        for path in sorted(HERE.glob(f"{name}-*.nccl.xz")):
            (tmp_path / path.name.removesuffix(".xz")).write_bytes(lzma.decompress(path.read_bytes()))
        done = in_process("nccl", "report", str(tmp_path), "--json")
        document = json.loads(done.stdout)
        return done.returncode, {one["id"]: one for one in document["findings"]}, document

    return report


@pytest.mark.parametrize("name", ["healthy", "net"])
def test_a_healthy_job_has_no_finding(reported, name):
    status, findings, _ = reported(name)
    assert (status, {one for one, finding in findings.items() if finding["level"] in ("WARN", "FAIL")}) == (0, set())


def test_the_rank_that_is_late_is_named_with_its_time(reported):
    status, findings, document = reported("late")
    assert status == 1
    assert "wait for rank 1" in findings["rank-late"]["message"]
    ranks = document["communicators"][0]["lateness"]
    assert [one["rank"] for one in ranks if one["late"]] == [1]
    assert next(one["typical_ms"] for one in ranks if one["rank"] == 1) == pytest.approx(20, abs=2)


def test_the_rank_that_does_not_enter_is_named(reported):
    status, findings, _ = reported("hang")
    assert status == 1
    assert "rank 1 has not entered AllReduce #11" in findings["rank-behind"]["message"]
    assert "rank-late" not in findings
