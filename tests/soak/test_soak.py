# SPDX-License-Identifier: Apache-2.0
"""A short soak over each kind of connection is right, and a long one would tell what is not: `make soak`."""

import os
import subprocess
import sys

import pytest
from tests.patience import HANGS_AFTER_S
from tests.soak.footprint import SLACK, Footprint
from tests.soak.steps import STEPS_PER_PARTS, colors, step, steps
from tests.soak.world import WORLDS, soak

SEED = 20
COLLECTIVES = 40
LIMIT_S = 150
"""Where other work takes the cores; alone it takes about 5 s a world."""


def shared_memory():
    return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.mp-")}


@pytest.mark.timeout(LIMIT_S + 20)
@pytest.mark.parametrize("world", WORLDS)
def test_random_collectives_are_right_and_leave_nothing(world):
    before = shared_memory()
    found = soak(WORLDS[world], 3, seed=SEED, collectives=COLLECTIVES, limit_s=LIMIT_S)
    assert [one.wrong for one in found] == [None] * 3
    assert all(one.collectives >= COLLECTIVES for one in found)
    assert shared_memory() <= before


def test_one_step_can_be_done_again_alone():
    found = soak(WORLDS["shm"], 2, seed=SEED, collectives=COLLECTIVES, only=STEPS_PER_PARTS + 1, limit_s=LIMIT_S)
    assert [(one.wrong, one.steps) for one in found] == [(None, 1)] * 2


def test_a_step_depends_on_its_number_and_the_seed_alone():
    drawn = list(steps(SEED, 5, 300))
    assert drawn == [step(SEED, 5, one.number) for one in drawn]
    assert sum(len(one.calls) for one in drawn) >= 300
    assert drawn != list(steps(SEED + 1, 5, 300))
    assert colors(SEED, 5, 0) == colors(SEED, 5, STEPS_PER_PARTS - 1)
    assert colors(SEED, 5, 0) != colors(SEED, 5, STEPS_PER_PARTS)


def test_a_failure_names_the_ranks_and_how_to_get_there_again():
    command = [
        sys.executable,
        "-m",
        "tests.soak",
        "--seed",
        "1",
        "--ranks",
        "2",
        "--worlds",
        "shm",
        "--minutes",
        "0.02",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False)
    assert done.returncode == 4, done.stderr
    assert "seed 1, 2 ranks" in done.stdout
    assert "rank 1: it was still running when the time was over" in done.stdout
    assert 'to repeat: make soak ARGS="--seed 1 --ranks 2 --worlds shm --count 10000"' in done.stdout


def test_growth_is_told_with_its_figures():
    small = Footprint(resident_bytes=1 << 20, files=10, mappings=100, threads=3)
    grown = Footprint(resident_bytes=(1 << 20) + SLACK["resident_bytes"] + 1, files=11, mappings=101, threads=3)
    assert grown.growth_since(small) == f"resident_bytes from {1 << 20} to {grown.resident_bytes}, files from 10 to 11"
    assert small.growth_since(grown) is None
    assert Footprint.least([grown, small]) == small


def test_files_that_stay_open_and_memory_that_stays_are_seen():
    before = Footprint.now()
    files = [open("/dev/null", "rb") for _ in range(5)]  # noqa: SIM115
    memory = bytearray(b"x") * (SLACK["resident_bytes"] + (1 << 20))
    grown = Footprint.now().growth_since(before)
    for one in files:
        one.close()
    assert len(memory) > 0
    assert grown is not None
    assert f"files from {before.files} to {before.files + 5}" in grown
    assert "resident_bytes" in grown
