# SPDX-License-Identifier: Apache-2.0
"""Ranks that have met: exchanges, and how a run ends when one of them does not go on."""

import contextlib
import itertools
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from dataclasses import replace

import pytest
from tests.patience import FAR_S, HANGS_AFTER_S
from tests.transports.ranks import in_threads, meet_on, on_processes, on_ranks
from tests.transports.standings import at, idle

from railgauge.topo.errors import MismatchError, PeerLostError, RunError
from railgauge.transports import beat, exchanges, hub, rendezvous, vain_waits
from railgauge.transports.blame import blame
from railgauge.transports.bootstrap import Bootstrap, Watch
from railgauge.transports.frame import (
    FROM_HUB,
    MAX_PAYLOAD,
    Contribution,
    FrameKind,
    FrameReader,
    Welcome,
    pack,
    pack_contribution,
    receive,
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
def test_who_has_not_said_hello_has_no_say(frame):
    one = meet_on(HashStore(), 0, 1)
    with socket.create_connection((one.place.address, one.place.port), timeout=10) as early:
        authenticate(early, one.place.secret(b"s"), HUB, deadline=one.deadline)
        early.settimeout(10)
        early.sendall(frame)
        assert early.recv(1) == b""
    member = one.join(0)
    assert member.all_gather("mine", str) == ["mine"]
    member.close()
    one.close()


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


def test_a_rank_that_vanishes_is_named_to_all():
    def body(bootstrap):
        bootstrap.barrier()
        if bootstrap.rank == 1:
            bootstrap._sock.shutdown(socket.SHUT_RDWR)
            return None
        with pytest.raises(PeerLostError, match=r"rank 1 on \S+ is gone") as caught:
            bootstrap.barrier()
        return caught.value.rank

    assert on_ranks(3, body) == [1, None, 1]


def test_a_failing_rank_ends_all_with_its_reason():
    def body(bootstrap):
        if bootstrap.rank == 2:
            bootstrap.fail("the dog ate it")
        with pytest.raises(RunError, match="rank 2: the dog ate it"):
            raise bootstrap.wait_for_failure(RunError("nobody told"))
        return "told"

    assert on_ranks(3, body) == ["told"] * 3


def test_a_rank_that_waits_forever_blames_the_one_it_waits_for_and_all_hear_where_everybody_stands():
    def body(bootstrap):
        here = {0: at("all_reduce", 41, 1), 1: at("all_reduce", 41, 2), 2: at("broadcast", 40, -1)}[bootstrap.rank]
        for standing in (idle(), here):
            bootstrap.attend(Watch(standing=lambda standing=standing: standing, abort=lambda: None))
        bootstrap.barrier()
        if bootstrap.rank == 0:
            bootstrap.fail("nothing moved", waits=(1, False))
        with pytest.raises(PeerLostError) as caught:
            raise bootstrap.wait_for_failure(RunError("nobody told"))
        return str(caught.value), caught.value.rank

    picture = "ranks 0 and 1 wait in all_reduce #41 for rank 2, which is in broadcast #40"
    assert on_ranks(3, body) == [(f"rank 2 did not take part: {picture} (rank 0: nothing moved)", 2)] * 3


def test_a_rank_that_waits_for_one_that_has_left_is_told_long_before_the_timeout(monkeypatch):
    monkeypatch.setattr(vain_waits, "LEFT_S", 0.2)

    def body(bootstrap):
        waits_for = -1 if bootstrap.rank == 1 else 1
        bootstrap.attend(Watch(standing=lambda: at("all_reduce", 7, waits_for), abort=lambda: None))
        bootstrap.barrier()
        return bootstrap.rank == 1 or str(bootstrap.wait_for_failure(RunError("nobody told"), limit_s=15))

    first, _, third = on_ranks(3, body, timeout_s=60)
    assert first == third
    assert re.search(r"rank 1 on \S+ left while others wait for it: ranks 0 and 2 wait in all_reduce #7", first)


def test_as_long_as_all_are_there_nobody_is_asked_where_it_stands(monkeypatch):
    monkeypatch.setattr(beat, "BEATS_PER_TIMEOUT", 200)
    one = meet_on(HashStore(), 0, 1)
    with socket.create_connection((one.place.address, one.place.port), timeout=HANGS_AFTER_S) as rank:
        authenticate(rank, one.place.secret(b"s"), HUB, deadline=one.deadline)
        rank.sendall(pack(FrameKind.HELLO, 0, {"rank": 0, "world_size": 1, "version": "1", "host": "here", "pid": 7}))
        reader, heard = FrameReader(FROM_HUB), []
        while heard.count(FrameKind.BEAT) < 5:
            heard += [kind for kind, _, _ in receive(rank, reader)]
        rank.sendall(pack(FrameKind.BYE))
        assert set(heard) == {FrameKind.WELCOME, FrameKind.BEAT}
    one.close()


def test_beats_come_no_more_often_than_agreed(monkeypatch):
    monkeypatch.setattr(beat, "BEATS_PER_TIMEOUT", 80)
    one = meet_on(HashStore(), 0, 1)
    with socket.create_connection((one.place.address, one.place.port), timeout=HANGS_AFTER_S) as rank:
        authenticate(rank, one.place.secret(b"s"), HUB, deadline=one.deadline)
        began = time.monotonic()
        rank.sendall(pack(FrameKind.HELLO, 0, {"rank": 0, "world_size": 1, "version": "1", "host": "here", "pid": 7}))
        reader, heard = FrameReader(FROM_HUB), []
        while [kind for kind, _, _ in heard].count(FrameKind.BEAT) < 3:
            heard += receive(rank, reader)
        beats = (time.monotonic() - began) / heard[0][2].beat_s
        rank.sendall(pack(FrameKind.BYE))
    one.close()
    assert beats > 1.5  # between the first and the third lie two


def test_ranks_that_go_on_after_one_has_left_are_left_alone(monkeypatch):
    monkeypatch.setattr(vain_waits, "LEFT_S", 0.05)

    def body(bootstrap):
        numbers = itertools.count()
        bootstrap.attend(Watch(standing=lambda: at("all_reduce", next(numbers), 1), abort=lambda: None))
        bootstrap.barrier()
        if bootstrap.rank != 1:
            time.sleep(0.5)
        return bootstrap.failure

    assert on_ranks(3, body) == [None] * 3


PAUSED = """
import time
from tests.transports.ranks import on_ranks
def body(bootstrap):
    bootstrap.barrier()
    if bootstrap.rank == 0:
        print("met", flush=True)
        for _ in range(20):
            time.sleep(0.05)
    return bootstrap.all_gather(bootstrap.rank, int)
print(on_ranks(3, body, timeout_s=4.0))
"""


def test_a_pause_of_all_ranks_counts_against_none():
    """As when their virtual machine is moved: longer than the timeout, while all but rank 0 wait in an exchange."""
    with subprocess.Popen([sys.executable, "-c", PAUSED], stdout=subprocess.PIPE, text=True) as ranks:
        assert ranks.stdout.readline() == "met\n"
        ranks.send_signal(signal.SIGSTOP)
        time.sleep(4.6)
        ranks.send_signal(signal.SIGCONT)
        assert ranks.communicate(timeout=HANGS_AFTER_S)[0] == f"{[[0, 1, 2]] * 3}\n"


@pytest.mark.parametrize("timeouts", [(2.0, FAR_S), (FAR_S, 2.0)])
def test_ranks_of_different_timeouts_know_that_the_others_live(timeouts):
    store = HashStore()

    def process_main(process):
        with contextlib.closing(meet_on(store, process, 2, timeout_s=timeouts[process])) as rendezvous:
            bootstrap = rendezvous.join(process)
            time.sleep(5.0)
            failure = bootstrap.failure
            bootstrap.close()
            return failure

    assert in_threads(2, process_main) == [None, None]


def test_a_lost_rank_is_told_with_who_waits_for_it():
    def body(bootstrap):
        if bootstrap.rank != 1:
            bootstrap.attend(Watch(standing=lambda: at("all_reduce", 7, 1), abort=lambda: None))
        bootstrap.barrier()
        if bootstrap.rank == 1:
            bootstrap._sock.shutdown(socket.SHUT_RDWR)
            return None
        return str(bootstrap.wait_for_failure(RunError("nobody told"), limit_s=HANGS_AFTER_S))

    first, _, third = on_ranks(3, body)
    assert first == third
    assert re.search(
        r"rank 1 on \S+ is gone: .*: ranks 0 and 2 wait in all_reduce #7 for rank 1, which does not answer", first
    )


def test_after_a_failure_process_0_has_where_everybody_stood():
    rendezvous = meet_on(HashStore(), 0, 1, ranks_per_process=2)

    def body(rank):
        bootstrap = rendezvous.join(rank)
        bootstrap.attend(Watch(standing=lambda: at("all_reduce", rank + 1, -1), abort=lambda: None))
        bootstrap.barrier()
        if rank == 0:
            bootstrap.fail("the dog ate it")
        told = str(bootstrap.wait_for_failure(RunError("nobody told")))
        bootstrap.close()
        return told

    assert in_threads(2, body) == ["rank 0: the dog ate it"] * 2
    rendezvous.close()
    assert {rank: standing.running.number for rank, [standing] in rendezvous.standings.items()} == {0: 1, 1: 2}


def test_ranks_that_do_different_things_all_hear_what_differs():
    def body(bootstrap):
        count = 32 if bootstrap.rank == 2 else 64
        bootstrap.attend(Watch(standing=lambda: at("all_reduce", 3, -1, count=count), abort=lambda: None))
        bootstrap.barrier()
        if bootstrap.rank == 2:
            bootstrap.fail("rank 1 sends for another operation", mismatch=True)
        with pytest.raises(MismatchError) as caught:
            raise bootstrap.wait_for_failure(RunError("nobody told"))
        return str(caught.value)

    assert (
        on_ranks(3, body)
        == [
            "ranks diverge at operation #3: ranks 0 and 1 called all_reduce of 64 float, sum; "
            "rank 2 called all_reduce of 32 float, sum: counts differ"
        ]
        * 3
    )


@pytest.mark.parametrize(
    ("waits", "start", "guilty"),
    [
        ({0: 1}, 0, 1),  # rank 1 is silent
        ({0: 1, 1: 2, 2: -1}, 0, 2),  # rank 2 waits for nobody
        ({0: 1, 1: 2}, 0, 2),  # rank 2 is silent
        ({0: 1, 1: 0}, 0, 1),  # a circle: the neighbour
        ({0: 1, 1: 2, 2: 1}, 0, 1),
    ],
)
def test_blame_follows_the_waits(waits, start, guilty):
    assert blame({rank: (other, False) for rank, other in waits.items()}, start) == guilty


def test_in_a_circle_the_one_that_cannot_send_is_to_blame():
    # Rank 2 wants rank 1's data; rank 1 has it, and waits for a slot that rank 2 has long freed.
    states = {0: (2, False), 1: (2, True), 2: (1, False)}
    assert blame(states, 0) == blame(states, 1) == blame(states, 2) == 1


def test_a_rank_that_does_not_come_to_an_exchange_is_named():
    def body(bootstrap):
        bootstrap.barrier()
        if bootstrap.rank == 1:
            return bootstrap.wait_for_failure(RunError("nobody told"), limit_s=HANGS_AFTER_S).rank
        with pytest.raises(PeerLostError, match="rank 1 did not enter an exchange") as caught:
            bootstrap.barrier()
        return caught.value.rank

    assert on_ranks(3, body, timeout_s=3.0) == [1, 1, 1]


def test_one_that_has_left_is_not_waited_for():
    def body(bootstrap):
        bootstrap.barrier()
        if bootstrap.rank == 1:
            return None
        with pytest.raises(PeerLostError, match=r"rank 1 on \S+ left while others wait for it") as caught:
            bootstrap.barrier()
        return caught.value.rank

    assert on_ranks(3, body, timeout_s=FAR_S) == [1, None, 1]


def test_one_that_leaves_while_others_wait_is_named():
    def body(bootstrap):
        if bootstrap.rank == 1:
            time.sleep(0.3)  # the others are in the barrier by then, in this order or the other
            return None
        with pytest.raises(PeerLostError, match=r"rank 1 on \S+ left while others wait for it") as caught:
            bootstrap.barrier()
        return caught.value.rank

    assert on_ranks(3, body, timeout_s=FAR_S) == [1, None, 1]


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
        got = on_ranks(4, body, timeout_s=3.0)
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
