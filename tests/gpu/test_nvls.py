# SPDX-License-Identifier: Apache-2.0
"""Sums by NVSwitches, which are simulated."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.gpu.test_driver_memory import registering
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]
RIGHT = {"right": True, "left": [0, 0]}
ON = {"RAILGAUGE_MULTICAST": "1"}
WHAT_TO_TRY = " (is nvidia-fabricmanager running? RAILGAUGE_MULTICAST=0 does without)"
KERNELS = {"nvls_half", "nvls_bfloat16", "nvls_float"}


@pytest.mark.parametrize("processes", [(), ("--processes",)], ids=["threads", "processes"])
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_sums_against_numpy(fake_gpus, tmp_path, ranks, processes):
    asked = (sys.executable, "-m", "tests.gpu.matrix", "--ranks", str(ranks), "--registered", "nvls", *processes)
    env = clean_environment(FAKE_CUDA_LAUNCHES=str(tmp_path / "log"), **fake_gpus(ranks), **ON)
    result = subprocess.run(
        asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count(": 24 cases via ['P2P/") == ranks, result.stdout
    launches = [line.split()[1] for line in (tmp_path / "log").read_text().splitlines()]
    assert (set(launches), len(launches)) == (KERNELS, 24 * ranks)


@pytest.fixture(scope="module")
def said(fake_gpus):
    good, bad = ("summed", "symmetric", "due", "why"), ("uncreated", "unjoined", "unbound", "elsewhere")
    return registering(fake_gpus, *good, *bad, ranks=4, program="nvls", **ON)


def test_memory_of_the_communicator_is_summed_and_nothing_is_left(said):
    assert [one["summed"] for one in said] == [one["symmetric"] for one in said] == 4 * [RIGHT]


def is_refused_on_all(said, case, words):
    for one in said:
        assert one[case]["error"].startswith(f"UnavailableError: {words}")
        assert (one[case]["left"], one[case]["after"]) == ([0, 0], RIGHT)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("uncreated", f"rank 0: cuMulticastCreate for 4 GPUs{WHAT_TO_TRY}: CUDA_ERROR_OUT_OF_MEMORY"),
        ("unjoined", f"rank 1: cuMulticastAddDevice{WHAT_TO_TRY}: 999"),
        ("unbound", f"rank 1: cuMulticastBindMem{WHAT_TO_TRY}: 802"),
    ],
)
def test_what_the_driver_refuses_is_named_on_all_ranks_and_nothing_is_left(said, case, words):
    is_refused_on_all(said, case, words)


@pytest.fixture(scope="module")
def said_by_threads(fake_gpus):
    """They map nothing else of each other's memory."""
    cases = ("due", "unexported", "unimported", "unmapped", "unreserved")
    return registering(fake_gpus, *cases, "--threads", ranks=2, program="nvls", **ON)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("unexported", "rank 0: exporting memory of a GPU: CUDA_ERROR_INVALID_VALUE"),
        ("unimported", "rank 1: mapping memory of the GPU of rank 0 (0000:10:00.0): 999"),
        ("unmapped", "rank 1: mapping a multicast object: CUDA_ERROR_OUT_OF_MEMORY"),
        ("unreserved", "rank 1: mapping a multicast object: CUDA_ERROR_OUT_OF_MEMORY"),
    ],
)
def test_an_object_that_cannot_be_handed_over_or_mapped_is_named_on_all_ranks(said_by_threads, case, words):
    is_refused_on_all(said_by_threads, case, words)


def test_long_sums_of_floats_in_whole_words_of_symmetric_memory_take_it(said):
    for one in said:
        assert one["due"] == {"long": 3 * ["nvls"], "short": "zero-copy", "others": 4 * ["zero-copy"]}


def test_between_two_gpus_it_is_no_faster_and_not_due(said_by_threads):
    assert {way for one in said_by_threads for way in one["due"]["long"]} == {"zero-copy"}


def test_other_places_of_symmetric_memory_are_an_error_before_anything_is_summed(said):
    for text, is_untouched in (one["elsewhere"] for one in said):
        assert ("passed a different offset in its symmetric memory" in text, is_untouched) == (True, True)


def test_a_gpu_without_it_says_why(said):
    unsupported = "the GPU or its driver does not support it"
    kernels = "loading the kernels of NVLS: CUDA_ERROR_NO_BINARY_FOR_GPU: fake error"
    assert [one["why"] for one in said] == 4 * [["", unsupported, kernels]]


def test_off_nothing_of_it_is_called(fake_gpus):
    functions = ("cuMulticastCreate", "cuMulticastAddDevice", "cuMulticastBindMem")
    faults = " ".join(f"{one}=999" for one in functions)
    for one in registering(fake_gpus, "symmetric", "due", ranks=4, program="nvls", faults=faults):
        assert (one["symmetric"], set(one["due"]["long"])) == (RIGHT, {"zero-copy"})
