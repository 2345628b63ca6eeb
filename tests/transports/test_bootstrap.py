# SPDX-License-Identifier: Apache-2.0
import socket
import threading
import time

import pytest
from tests.transports.ranks import free_listener, on_ranks

from railgauge.topo.errors import PeerLostError, RunError, UsageError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.hub import blame


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_all_gather_gives_everybody_everything_in_rank_order(ranks):
    got = on_ranks(ranks, lambda b: [b.all_gather({"rank": b.rank, "turn": turn}) for turn in range(3)])
    want = [[{"rank": rank, "turn": turn} for rank in range(ranks)] for turn in range(3)]
    assert got == [want] * ranks


def test_broadcast_takes_the_roots_value():
    assert on_ranks(3, lambda b: b.broadcast(b.rank * 10, root=2)) == [20, 20, 20]


def test_a_missing_rank_is_named():
    listener = free_listener()
    with pytest.raises(PeerLostError, match=r"rank 1, 2 did not join within 0\.5 s"):
        Bootstrap.join(rank=0, world_size=3, address=("", 0), timeout_s=0.5, listener=listener)


def test_nobody_at_the_address():
    with free_listener() as listener:
        address = listener.getsockname()[:2]
    with pytest.raises(PeerLostError, match=f"nobody answers at 127.0.0.1:{address[1]}"):
        Bootstrap.join(rank=1, world_size=2, address=address, timeout_s=0.3)


def test_rank_0_says_who_holds_its_port():
    with free_listener() as taken, pytest.raises(UsageError, match=r"cannot listen on 127\.0\.0\.1"):
        Bootstrap.join(rank=0, world_size=2, address=taken.getsockname()[:2], timeout_s=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rank": 0}, "rank 0 has joined already"),
        ({"rank": 1, "world_size": 4}, "a world of 4 ranks, rank 0 for 2"),
        ({"rank": 1, "version": "9"}, "it runs railgauge 9, rank 0 runs 1"),
    ],
)
def test_a_rank_that_does_not_belong_is_told_why(wrong, message):
    listener = free_listener()
    address = listener.getsockname()[:2]
    common = {"world_size": 2, "address": address, "timeout_s": 10.0, "version": "1"}
    errors = []
    zero = threading.Thread(target=lambda: Bootstrap.join(rank=0, listener=listener, **common).close())
    zero.start()
    time.sleep(0.2)
    # A second rank 0 would be a hub of its own: its hello is sent as a plain member's.
    try:
        if wrong["rank"] == 0:
            with socket.create_connection(address) as sock:
                Bootstrap(0, 2, sock, 10.0, None)._hello("1", time.monotonic() + 5)
        else:
            Bootstrap.join(**(common | wrong))
    except UsageError as error:
        errors.append(str(error))
    Bootstrap.join(rank=1, **common).close()
    zero.join()
    assert len(errors) == 1
    assert message in errors[0]


def test_strangers_do_not_disturb():
    listener = free_listener()
    address = listener.getsockname()[:2]
    common = {"world_size": 2, "address": address, "timeout_s": 10.0}
    zero = threading.Thread(target=lambda: Bootstrap.join(rank=0, listener=listener, **common).close())
    zero.start()
    for data in (b"GET / HTTP/1.0\r\n\r\n", b"\x01\0\0\0\0\0\0\0\x02{}", b"\x04" * 40):
        with socket.create_connection(address) as stranger:
            stranger.sendall(data)
            stranger.settimeout(5)
            assert stranger.recv(1) == b""
    Bootstrap.join(rank=1, **common).close()
    zero.join()


def test_a_rank_that_vanishes_is_named_to_all():
    def body(bootstrap):
        bootstrap.barrier()
        if bootstrap.rank == 1:
            bootstrap._sock.shutdown(socket.SHUT_RDWR)
            return None
        with pytest.raises(PeerLostError, match="rank 1 is gone") as caught:
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


def test_a_rank_that_waits_forever_blames_the_one_it_waits_for():
    def body(bootstrap):
        bootstrap.blocked_on = lambda: {0: (1, False), 1: (2, False), 2: (-1, False)}[bootstrap.rank]
        if bootstrap.rank == 0:
            bootstrap.fail("nothing moved", waits=(1, False))
        with pytest.raises(PeerLostError, match="rank 2 did not take part: rank 0: nothing moved") as caught:
            raise bootstrap.wait_for_failure(RunError("nobody told"))
        return caught.value.rank

    assert on_ranks(3, body) == [2, 2, 2]


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
            return bootstrap.wait_for_failure(RunError("nobody told"), limit_s=10).rank
        with pytest.raises(PeerLostError, match="rank 1 did not come to an exchange") as caught:
            bootstrap.barrier()
        return caught.value.rank

    assert on_ranks(3, body, timeout_s=1.5) == [1, 1, 1]
