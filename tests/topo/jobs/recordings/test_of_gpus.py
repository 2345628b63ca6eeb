# SPDX-License-Identifier: Apache-2.0
"""Recordings of PyTorch jobs on two H200s (NCCL 2.28.9, NVLink multicast off), 40 all-reduces of 1 MiB and then 40 of
16 MiB: a healthy one, one whose rank 1 sleeps 20 ms before every second one, one over sockets between two host ids, and
one whose rank 1 does not enter the eleventh.
"""

import json
import lzma
from pathlib import Path

import pytest
from tests.cli.command import in_process

HERE = Path(__file__).parent / "h200"
SIZES, EACH = (1 << 20, 16 << 20), 40


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


@pytest.mark.parametrize("name", ["healthy", "late", "net"])
def test_every_operation_is_recorded(reported, name):
    _, _, document = reported(name)
    (communicator,) = document["communicators"]
    assert {one["bytes"]: one["count"] for one in communicator["operations"]} == dict.fromkeys(SIZES, EACH)
    assert [one["lost"] for one in document["recordings"]] == [0, 0]


def test_each_channel_sends_over_the_network_what_its_ring_has_to(reported):
    _, _, document = reported("net")
    (communicator,) = document["communicators"]
    (channels,) = {choice["channels"] for one in communicator["operations"] for choice in one["chosen"]}
    each = EACH * sum(SIZES) // channels  # of two ranks, an all-reduce by a ring sends as many bytes as it has
    assert {(one["rank"], one["channel"]): one["bytes"] for one in communicator["sends"]} == {
        (rank, channel): each for rank in range(2) for channel in range(channels)
    }


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
