# SPDX-License-Identifier: Apache-2.0
"""Memory that ranks register and cudaMalloc did not make: of cuMemCreate, in several pieces as PyTorch's expandable
segments are, and of pools.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]
RIGHT = {"right": [True, True], "left": [0, 0]}
NOT_EXPORTED = "rank 1: registering memory on this GPU: this memory of cuMemCreate cannot be exported: its requested"
RANK_1 = "memory of the GPU of rank 1 (0000:11:00.0)"


def registering(fake_gpus, *asked, ranks=3, program="registering", faults="", **settings):
    """By rank what tests/gpu/registering.py prints, or another program with its cases."""
    command = (sys.executable, "-m", f"tests.gpu.{program}", *asked, "--ranks", str(ranks))
    env = clean_environment(**settings, **fake_gpus(ranks, faults=faults))
    result = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert result.returncode == 0, result.stderr
    said = list(json.loads(result.stdout).values())
    assert len(said) == ranks - ("lost" in asked)
    assert not [one for one in said if "error" in one], said
    return said


@pytest.fixture(scope="module")
def said(fake_gpus):
    good = ("spans", "symmetric", "hasty", "pool", "intruded")
    bad = ("refused", "pool_refused", "unimported", "unexported", "unmapped", "unreachable")
    return registering(fake_gpus, *good, *bad)


def test_an_array_over_several_pieces_is_mapped_by_all_and_nothing_is_left(said):
    for rank, one in enumerate(said):
        assert one["spans"] == 2 * [RIGHT | {"reached_by": [rank]}]


def test_allocations_of_a_pool_are_mapped_by_all_and_nothing_is_left(said):
    for rank, one in enumerate(said):
        second = RIGHT | {"reached_by": [rank]}
        assert one["pool"] == {"first": [True, True], "second": second, "left": [0, 0]}


def test_memory_of_the_communicator_is_mapped_by_all_and_nothing_is_left(said):
    assert [one["symmetric"] for one in said] == 3 * [{"right": True, "left": [0, 0]}]


def test_memory_is_unmapped_when_the_operations_on_it_have_ended(said):
    assert [one["hasty"] for one in said] == 3 * [True]


def test_memory_that_cannot_be_exported_is_refused_on_all_ranks(said):
    for one in said:
        assert one["refused"]["error"].startswith(f"UnavailableError: {NOT_EXPORTED}")
        assert "rank 1: registering memory on this GPU: the pool of this memory" in one["pool_refused"]["error"]
        assert one["refused"]["left"] == one["pool_refused"]["left"] == [0, 0]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("unimported", ("rank 1: mapping memory of the GPU of rank ", ": 999")),
        ("unmapped", ("rank 1: mapping memory of the GPU of rank 0 (0000:10:00.0): CUDA_ERROR_OUT_OF_MEMORY",)),
        ("unexported", ("rank 1: exporting memory of a GPU: 999", f"rank 0: mapping {RANK_1}: its process could not")),
    ],
)
def test_what_the_driver_refuses_is_named_and_later_registrations_are_right(said, case, words):
    for rank, one in enumerate(said):
        assert all(each in one[case]["error"] for each in words)
        assert one[case]["left"] == [0, 0]
        assert one[case]["after"] == RIGHT | {"reached_by": [rank]}


def test_what_other_programs_send_is_dropped(said):
    for rank, one in enumerate(said):
        assert one["intruded"] == RIGHT | {"reached_by": [rank]}


def test_a_rank_in_another_network_namespace_is_named(said):
    if "registering memory on this GPU" in said[0]["unreachable"]["error"]:
        pytest.skip("needs the right to make a network namespace")
    for one in said:
        assert "rank 0: lending memory to the GPU of rank 1 (0000:11:00.0): " in one["unreachable"]["error"]
        assert one["unreachable"]["left"] == [0, 0]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to make pid namespaces")
def test_containers_of_one_host_map_each_others_memory(fake_gpus):
    for rank, one in enumerate(registering(fake_gpus, "via", "spans", "symmetric", "--containers", ranks=2)):
        assert one["via"] == ["P2P/IPC"]
        assert one["spans"] == 2 * [RIGHT | {"reached_by": [rank]}]
        assert one["symmetric"] == {"right": True, "left": [0, 0]}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to make pid namespaces")
def test_containers_without_descriptors_use_the_network(fake_gpus):
    for one in registering(fake_gpus, "via", "--containers", ranks=2, NCCL_CUMEM_ENABLE="0"):
        assert one["via"] == ["NET/Socket/0"]


def test_threads_get_access_to_each_others_memory(fake_gpus):
    for one in registering(fake_gpus, "spans", "pool", "pool_refused", "--threads", ranks=2):
        said = [*one["spans"], one["pool"]["second"], one["pool_refused"]]
        assert [(each["right"], each["reached_by"]) for each in said] == 4 * [([True, True], [0, 1])]


def test_a_rank_that_dies_meanwhile_is_named(fake_gpus):
    for one in registering(fake_gpus, "lost"):
        assert one["lost"]["error"].startswith("PeerLostError: rank 1 ")


def test_a_rank_that_does_not_go_on_is_named(fake_gpus):
    for one in registering(fake_gpus, "late", "--timeout", "5"):
        assert "the GPU of rank 1 (0000:11:00.0) did not exchange memory within 5 s" in one["late"]["error"]
