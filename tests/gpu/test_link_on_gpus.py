# SPDX-License-Identifier: Apache-2.0
"""railgauge link on this machine's own GPUs: every way is right at odd sizes, and about as fast as its wires."""

import json

import pytest
from tests.cli.command import railgauge
from tests.cli.test_schemas import check

from railgauge.collectives.device import why_no_gpu


@pytest.fixture(autouse=True)
def two_gpus() -> None:
    from railgauge._native import collectives as native

    if why := why_no_gpu():
        pytest.skip(f"needs two GPUs: {why}")
    if native.gpu_count() < 2:
        pytest.skip("needs two GPUs, and there is one")


def measured(*args, **env):
    done = railgauge("link", "--device", "cuda", "--json", *args, **env)
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    check("link", got)
    assert all(one["wrong"] == 0 for one in got["links"])
    return got["links"]


@pytest.mark.parametrize(
    ("size", "short"), [("1", "1"), ("15", "4099"), ("4097", "5"), ("1000003", "8"), ("64M", "64")]
)
def test_bytes_are_right_at_every_size(size, short):
    assert measured("-b", size, "--latency-bytes", short, "-n", "4")


def test_it_is_right_through_memory_of_the_host():
    assert {one["via"] for one in measured("-b", "64M", "-n", "4", NCCL_P2P_DISABLE="1")} == {"SHM"}


def test_nvlinks_carry_most_of_what_the_topology_says():
    links = [one for one in measured("0", "1") if one["path_type"] == "NVL"]
    if not links:
        pytest.skip("these GPUs have no NVLink in common")
    for one in links:
        assert one["ratio"] > 0.6, one
        assert one["both_ways_gb_per_s"] > 0.6 * one["predicted_gb_per_s"], one
