# SPDX-License-Identifier: Apache-2.0
"""Ranks that have met: hello, exchanges among all and in groups, and what the hub does not take."""

import random
import re
import socket
import threading
import time
import types
from dataclasses import replace

import pytest
from tests.patience import HANGS_AFTER_S
from tests.transports.ranks import in_threads, meet_on, on_processes, on_ranks

from railgauge.topo.errors import MismatchError, PeerLostError, RunError
from railgauge.transports import exchanges, hub, rendezvous
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.frame import (
    MAX_PAYLOAD,
    Contribution,
    FrameKind,
    Welcome,
    pack,
    pack_contribution,
)
from railgauge.transports.handshake import HUB, authenticate
from railgauge.transports.hub_place import HubPlace
from railgauge.transports.store.hash_store import HashStore


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_all_gather_gives_everybody_everything_in_rank_order(ranks):
    got = on_ranks(ranks, lambda b: [b.all_gather({"rank": b.rank, "turn": turn}, dict) for turn in range(3)])
    want = [[{"rank": rank, "turn": turn} for rank in range(ranks)] for turn in range(3)]
    assert got == [want] * ranks


def test_all_gather_of_bytes_of_any_length():
    values = [random.Random(rank).randbytes(size) for rank, size in enumerate((0, 1, 70_000, 3_000_000))]
    assert on_ranks(4, lambda b: b.all_gather_bytes(values[b.rank])) == [values] * 4


def test_an_exchange_that_does_not_fit_a_frame_ends_the_run():
    def body(bootstrap):
        with pytest.raises(RunError, match=f"the limit is {MAX_PAYLOAD}"):
            bootstrap.all_gather_bytes(bytes(MAX_PAYLOAD // 2))
        return "told"

    assert on_ranks(2, body) == ["told"] * 2


def test_broadcast_takes_the_roots_value():
    assert on_ranks(3, lambda b: b.broadcast(b.rank * 10, int, root=2)) == [20, 20, 20]


def test_all_ranks_have_one_session_key_and_another_run_another():
    first, second = (on_processes(2, lambda b: b.session, HashStore()) for _ in range(2))
    assert first[0] == first[1] != second[0] == second[1]
    assert len(first[0]) == 32


def test_the_session_key_depends_on_the_job_secret_and_on_a_new_salt(monkeypatch):
    def key(secret):
        return on_processes(1, lambda b: b.session, HashStore(), secret=secret)[0]

    monkeypatch.setattr(rendezvous, "secrets", types.SimpleNamespace(token_hex=lambda size: "00" * size))
    assert len({key(b"a"), key(b"a"), key(b"a")}) == 3  # the salt is the hub's
    monkeypatch.setattr(hub, "secrets", types.SimpleNamespace(token_hex=lambda size: "00" * size))
    assert key(b"a") == key(b"a") != key(b"b")
    place = HubPlace(address="127.0.0.1", port=9, interface="lo", host="h", network="n", key="00")
    assert len({place.secret(b"a"), place.secret(b"b"), replace(place, key="01").secret(b"a")}) == 3
    session = Bootstrap(0, 1, socket.socket(), 1.0)
    monkeypatch.setattr(session, "_expect_frames", lambda _: [(FrameKind.WELCOME, 0, Welcome(salt="00", beat_s=1.0))])
    keys = set()
    for secret in (b"a", b"b"):
        session.session, session._thread = b"", threading.Thread(target=lambda: None)
        session.join("1", "h", secret, deadline=time.monotonic() + HANGS_AFTER_S, look_around=None)
        keys.add(session.session)
    session._sock.close()
    assert len(keys) == 2


@pytest.mark.parametrize(
    "frame",
    [
        pack(FrameKind.BEAT),
        pack(FrameKind.BYE),
        pack(FrameKind.STATE, 0, []),
        pack(FrameKind.FAIL, 0, {"message": "forged", "waits": (-1, False), "mismatch": False}),
        pack_contribution(0, Contribution(20.0, 0, (), b"forged")),
    ],
    ids=["beat", "bye", "state", "fail", "gather"],
)
def test_who_has_not_said_hello_has_no_say_and_is_named(caplog, frame):
    one = meet_on(HashStore(), 0, 1)
    with socket.create_connection((one.place.address, one.place.port), timeout=10) as early:
        host, port = early.getsockname()[:2]
        authenticate(early, one.place.secret(b"s"), HUB, deadline=one.deadline)
        early.settimeout(10)
        early.sendall(frame)
        assert early.recv(1) == b""
    member = one.join(0)
    assert member.all_gather("mine", str) == ["mine"]
    member.close()
    one.close()
    assert f"rejected {host}:{port}: it sent other data before it said which rank it is" in caplog.text


def test_a_rank_says_hello_once():
    def body(bootstrap):
        if bootstrap.rank == 1:
            bootstrap._send(
                pack(FrameKind.HELLO, 0, {"rank": 0, "world_size": 2, "version": "1", "host": "elsewhere", "pid": 7})
            )
        return str(bootstrap.wait_for_failure(RunError("nobody told"), limit_s=10))

    assert re.search("rank 1 on .* sent invalid data", on_ranks(2, body)[0])


def test_a_hub_without_memory_ends_its_process_s_ranks_with_that_and_the_others_hear_of_it(monkeypatch):
    def gather(*_):
        raise MemoryError

    monkeypatch.setattr(hub.Hub, "_gather", gather)
    found = on_processes(2, lambda b: b.barrier(), HashStore())
    assert isinstance(found[0], MemoryError)
    assert isinstance(found[1], PeerLostError)
    assert "rank 0's process failed: out of memory" in str(found[1])


def test_a_hub_that_gets_no_thread_is_known_to_those_who_wait_for_it(monkeypatch):
    def start(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(hub.Hub, "start", start)
    found = on_processes(2, lambda b: b.barrier(), HashStore())
    assert isinstance(found[0], RuntimeError)
    assert "cannot start a thread" in str(found[1])


@pytest.mark.parametrize(
    ("numbers", "problem"), [((1, 2), f"the limit is {MAX_PAYLOAD}"), ((1, 1), "rank 1 on .* sent invalid data")]
)
def test_a_rank_cannot_make_the_hub_hold_more_than_one_exchange(numbers, problem):
    def body(bootstrap):
        if bootstrap.rank == 1:
            for number in numbers:
                bootstrap._send(pack_contribution(number, Contribution(20.0, 0, (), bytes(MAX_PAYLOAD * 5 // 8))))
        return str(bootstrap.wait_for_failure(RunError("nobody told"), limit_s=HANGS_AFTER_S))

    assert re.search(problem, on_ranks(2, body)[0])


def test_a_rank_cannot_leave_any_number_of_exchanges_open(monkeypatch):
    monkeypatch.setattr(exchanges, "MOST_OPEN", 20)

    def body(bootstrap):
        if bootstrap.rank == 1:
            for number in range(bootstrap.all_gather(21, int)[0]):
                bootstrap._send(pack_contribution(number, Contribution(20.0, 7, (), b"")))
        else:
            bootstrap.all_gather(21, int)
        return str(bootstrap.wait_for_failure(RunError("nobody told"), limit_s=10))

    assert re.search("rank 1 on .* sent invalid data", on_ranks(2, body)[0])


@pytest.mark.parametrize("junk", [b"\xff", b"{", b"", b"[" * 100_000])
@pytest.mark.parametrize("take", [lambda b: b.all_gather([1], list[int]), lambda b: b.broadcast(None, str, root=1)])
def test_who_sends_no_value_to_an_exchange_is_named(take, junk):
    found = on_ranks(3, lambda b: b.all_gather_bytes(junk) if b.rank == 1 else take(b))
    for rank in (0, 2):
        assert isinstance(found[rank], MismatchError)
        assert "rank 1 sent an unexpected value to an exchange" in str(found[rank])


def test_each_wait_on_the_connection_may_take_the_timeout():
    assert on_ranks(2, lambda b: b._sock.gettimeout(), timeout_s=17.0) == [17.0, 17.0]


def test_a_rank_that_takes_nothing_does_not_delay_the_others():
    """Rank 2 proves the secret, says hello, contributes, and reads nothing while the others exchange megabytes."""
    store = HashStore()
    rendezvous = [meet_on(store, process, 3) for process in range(2)]
    hello = {"rank": 2, "world_size": 3, "version": "1", "host": "slow", "pid": 7}
    with socket.create_connection((rendezvous[0].place.address, rendezvous[0].place.port)) as slow:
        authenticate(slow, rendezvous[0].place.secret(b"s"), HUB, deadline=rendezvous[0].deadline)
        slow.sendall(pack(FrameKind.HELLO, 0, hello))
        slow.sendall(b"".join(pack_contribution(number, Contribution(20.0, 0, (), b"")) for number in range(1, 6)))

        def body(process):
            bootstrap = rendezvous[process].join(process)
            for _ in range(5):
                bootstrap.all_gather_bytes(bytes(2_000_000))
            return bootstrap

        members = in_threads(2, body)
    for each in members + rendezvous:
        each.close()


def test_groups_exchange_among_themselves_in_any_order():
    """Every rank is in three groups, one of them in an order of its own, and goes through them in its own order."""

    def body(bootstrap):
        rank = bootstrap.rank
        even = bootstrap.subgroup([r for r in range(5) if r % 2 == rank % 2], 1)
        turned = bootstrap.subgroup([4, 3, 2, 1, 0], 2)
        within = turned.subgroup([0, 1] if turned.rank < 2 else [2, 3, 4], 1)
        assert [g.members[g.rank] for g in (even, turned, within)] == [rank] * 3
        turns = [even, turned, within, even]
        return {group.members: group.all_gather(rank, int) for group in turns}

    got = on_ranks(5, body)
    assert got[0] == {(0, 2, 4): [0, 2, 4], (4, 3, 2, 1, 0): [4, 3, 2, 1, 0], (2, 1, 0): [2, 1, 0]}
    assert got[3] == {(1, 3): [1, 3], (4, 3, 2, 1, 0): [4, 3, 2, 1, 0], (4, 3): [4, 3]}


def test_who_does_not_come_to_a_groups_exchange_is_named_by_its_number_in_the_job():
    def body(bootstrap):
        group = bootstrap.subgroup([3, 1], 1) if bootstrap.rank in (1, 3) else None
        if bootstrap.rank == 3:
            group.barrier()
        return str(bootstrap.wait_for_failure(RunError("nobody told"), limit_s=HANGS_AFTER_S))

    try:
        got = on_ranks(4, body, timeout_s=6.0)
    except PeerLostError as error:
        got = [str(error)]
    assert all("rank 1 did not enter an exchange" in str(one) for one in got)


@pytest.mark.parametrize("members", [(0, 2), (1, 1), (1, 7)])
def test_a_rank_cannot_send_to_a_group_that_it_is_not_in(members):
    def body(bootstrap):
        if bootstrap.rank == 1:
            bootstrap._send(pack_contribution(1, Contribution(20.0, 5, members, b"")))
        return str(bootstrap.wait_for_failure(RunError("nobody told"), limit_s=HANGS_AFTER_S))

    assert "rank 1 on" in (told := on_ranks(3, body)[0])
    assert "sent invalid data" in told
