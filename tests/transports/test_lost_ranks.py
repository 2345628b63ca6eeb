# SPDX-License-Identifier: Apache-2.0
"""Ranks that have met and then do not go on: who hears of it, and who is to blame."""

import contextlib
import itertools
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from tests.patience import FAR_S, HANGS_AFTER_S
from tests.transports.ranks import in_threads, meet_on, on_ranks
from tests.transports.standings import at, idle

from railgauge.topo.errors import MismatchError, PeerLostError, RunError
from railgauge.transports import beat, vain_waits
from railgauge.transports.blame import blame
from railgauge.transports.bootstrap import Watch
from railgauge.transports.frame import (
    FROM_HUB,
    FrameKind,
    FrameReader,
    pack,
    receive,
)
from railgauge.transports.handshake import HUB, authenticate
from railgauge.transports.store.hash_store import HashStore


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

    assert on_ranks(3, body, timeout_s=6.0) == [1, 1, 1]


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
