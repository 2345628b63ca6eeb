# SPDX-License-Identifier: Apache-2.0
"""The verbs transport over Soft-RoCE, between two processes of one guest and between two guests with two rails: data
in all shapes, queue pairs set as wanted, many connections in one boot, and ends that close, vanish or lose their link.
"""

import json
import sys

import pytest
from tests.vm.boards import ONE_RAIL, TWO_RAILS
from tests.vm.lab import guest

pytestmark = pytest.mark.vm
TIMEOUT_S = 300  # about 40 s where two cores are free
BYTES = 2 * 1_109_289  # of one shape: each size three times as it lies and registered, and what time_pair says itself
RTS = 3  # enum ibv_qp_state
ONE_GUEST, TWO_GUESTS = "one guest", "two guests"


def answers_of(kernel, folders, board, job):
    environment = {"PYTHON": sys.executable}
    guests = [guest.Guest(board=board, job=job, io=io, environment=environment) for io in folders]
    guest.boot(kernel, guests, TIMEOUT_S)


@pytest.fixture(scope="module")
def ranks(booted_kernel, tmp_path_factory):
    """What both ranks answered, in one guest and in two."""
    one = tmp_path_factory.mktemp("ib")
    two = [tmp_path_factory.mktemp("ib") for _ in range(2)]
    program = '"$PYTHON" -m tests.vm.in_guest.ib_pair'
    answers_of(booted_kernel, [one], ONE_RAIL, f"{program} both")
    job = f'modprobe -a sch_netem; {program} "$RANK" 10.77.0.1 > /run/io/rank$RANK.json'
    answers_of(booted_kernel, two, TWO_RAILS, job)
    return {
        ONE_GUEST: [json.loads((one / f"rank{rank}.json").read_text()) for rank in range(2)],
        TWO_GUESTS: [json.loads((io / f"rank{rank}.json").read_text()) for rank, io in enumerate(two)],
    }


@pytest.fixture(params=[ONE_GUEST, TWO_GUESTS])
def both(request, ranks):
    return ranks[request.param]


def test_data_is_right_over_any_queue_pairs_and_rails(both):
    for answers in both:
        assert [(shape["wrong"], shape["bytes"]) for shape in answers["exchanges"]] == [(0, BYTES)] * len(
            answers["exchanges"]
        )


def test_queue_pairs_are_what_was_asked_for(ranks):
    for answers in ranks[TWO_GUESTS]:
        for shape in answers["exchanges"]:
            pairs = shape["attributes"]
            rails = [f"{name}:1" for name in shape["devices"]]
            assert [pair["rail"] for pair in pairs] == rails * shape["queue_pairs"]
            assert {pair["traffic_class"] for pair in pairs} == {shape.get("traffic_class", 0)}
            for pair in pairs:
                assert (pair["state"], pair["timeout"], pair["retry_count"]) == (RTS, 16, 7)
                assert (pair["gid_index"], pair["is_global"], pair["path_mtu"]) == (1, True, 4096)


@pytest.mark.parametrize(("size", "notes"), [("8", 1000 // 32), ("65536", 100 // 2)])
def test_a_receiver_sends_a_note_for_every_32_short_and_2_long_messages(ranks, size, notes):
    receiver, sender = (answers["counted"][size] for answers in ranks[TWO_GUESTS])
    assert not receiver["wrong"]
    assert notes - 2 <= receiver["notes"] <= notes + 1  # the last may be on their way
    assert sender["notes"] == 0


def test_a_boot_outlives_many_rounds_of_connections(both):
    assert [answers["rounds"] for answers in both] == [{"wrong": 0, "rounds": 30}] * 2


@pytest.mark.parametrize(
    ("case", "kind", "words"),
    [
        ("no such device", "UnavailableError", ("no RDMA device mlx5_0", "rxe0")),
        ("no such port", "UnavailableError", ("rxe0 has no port 2",)),
        ("no such gid", "UnavailableError", ("rxe0:1", "500", "NCCL_IB_GID_INDEX")),
        ("empty gid", "UnavailableError", ("GID 9 is empty", "NCCL_IB_GID_INDEX")),
        ("no gid", "UsageError", ("is RoCE", "NCCL_IB_GID_INDEX")),
        ("pkey", "UsageError", ("no index 7", "NCCL_IB_PKEY")),
        ("timeout", "UsageError", ("0 to 31", "NCCL_IB_TIMEOUT")),
        ("unlike ends", "MismatchError", ("queue pairs", "NCCL_IB_QPS_PER_CONNECTION")),
        ("never registered", "UsageError", ("not registered",)),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_try(both, case, kind, words):
    for answers in both:
        said = answers["refusals"][case]
        assert said.startswith(kind)
        assert all(word in said for word in words), said


def test_a_rank_that_waits_learns_that_its_peer_closed(both):
    assert both[0]["closed"]["said"].startswith("PeerLostError: rank 1 at the other guest: it closed the connection")


def test_a_rank_that_waits_learns_that_its_peer_is_gone(both):
    assert "PeerLostError: rank 1 at the other guest: it answers nothing over rxe0:1" in both[0]["killed"]["said"]


def test_a_rail_that_is_silent_is_named(ranks):
    silent = ranks[TWO_GUESTS][0]["rail_silent"]
    assert "PeerLostError: rank 1 at the other guest: it answers nothing over rxe1:1" in silent["said"]


def test_a_port_that_goes_down_ends_the_wait_and_is_named(ranks):
    here, there = ranks[TWO_GUESTS][1]["link_down"], ranks[TWO_GUESTS][0]["link_down"]
    assert here["said"].startswith("UnavailableError: rxe1:1 of this rank: port error")
    assert there["said"].startswith(
        "PeerLostError: rank 1 at the other guest: RDMA over rxe1:1 failed: transport retry"
    )
