# SPDX-License-Identifier: Apache-2.0
"""Whoever connects to a hub and is no rank of the job: told, sent away, and in nobody's way."""

import contextlib
import dataclasses
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest
from tests.patience import HANGS_AFTER_S
from tests.transports.ranks import in_threads, meet_on

from railgauge.topo.errors import PeerLostError
from railgauge.transports import hub_connections, tcp
from railgauge.transports.handshake import HUB, MAGIC, ServerHandshake, authenticate
from railgauge.transports.hub_place import HubPlace
from railgauge.transports.reach import reach
from railgauge.transports.store.hash_store import HashStore


def outsiders_bytes():
    return [b"GET / HTTP/1.0\r\n\r\n", b"\x01\0\0\0\0\0\0\0\x02{}", b"\x04" * 4000, MAGIC + bytes(16), b"", b"RGAU"]


def test_outsiders_do_not_disturb(caplog):
    rendezvous = meet_on(HashStore(), 0, 1)
    address = (rendezvous.place.address, rendezvous.place.port)
    left_open = [socket.create_connection(address) for _ in outsiders_bytes()]
    for outsider, data in zip(left_open, outsiders_bytes(), strict=True):
        outsider.sendall(data)
    with socket.create_connection(address) as outsider:
        outsider.sendall(b"GET / HTTP/1.0\r\n\r\n")
        outsider.settimeout(5)
        assert outsider.recv(1) == b""
    with socket.create_connection(address) as member:  # knows the secret, but sends no frames
        authenticate(member, rendezvous.place.secret(b"s"), HUB, deadline=time.monotonic() + HANGS_AFTER_S)
        member.sendall(b"\xff" * 100)
        member.settimeout(5)
        assert member.recv(1) == b""
    bootstrap = rendezvous.join(0)
    assert bootstrap.all_gather(1, int) == [1]
    for each in (*left_open, bootstrap, rendezvous):
        each.close()
    assert "it does not speak railgauge's protocol: it begins with b'GET / HTTP/1.0" in caplog.text


def test_an_outsider_that_says_nothing_is_sent_away(monkeypatch, caplog):
    monkeypatch.setattr(hub_connections, "IDENTIFY_S", 0.2)
    rendezvous = meet_on(HashStore(), 0, 1)
    with socket.create_connection((rendezvous.place.address, rendezvous.place.port), timeout=HANGS_AFTER_S) as outsider:
        assert outsider.recv(1) == b""
    rendezvous.join(0).close()
    rendezvous.close()
    assert "it did not identify itself within 0.2 s" in caplog.text


def test_silent_outsiders_on_every_place_keep_no_rank_out(monkeypatch, caplog):
    monkeypatch.setattr(hub_connections, "MOST_PENDING", 20)
    store = HashStore()
    rendezvous = [meet_on(store, process, 2) for process in range(2)]
    with contextlib.ExitStack() as stack:
        address = (rendezvous[0].place.address, rendezvous[0].place.port)
        outsiders = [stack.enter_context(socket.create_connection(address, 5)) for _ in range(100)]
        assert outsiders[0].recv(1) == b""  # the oldest makes room
        members = in_threads(2, lambda process: rendezvous[process].join(process))
    assert in_threads(2, lambda process: members[process].all_gather(process, int)) == [[0, 1]] * 2
    for each in members + rendezvous:
        each.close()
    assert "had not authenticated when the limit of open connections was reached" in caplog.text


def test_outsiders_that_come_after_the_ranks_push_none_of_them_out(monkeypatch):
    monkeypatch.setattr(hub_connections, "MOST_PENDING", 20)
    rendezvous = meet_on(HashStore(), 0, 1, ranks_per_process=2)
    members = in_threads(2, rendezvous.join)
    with contextlib.ExitStack() as stack:
        address = (rendezvous.place.address, rendezvous.place.port)
        outsiders = [stack.enter_context(socket.create_connection(address, HANGS_AFTER_S)) for _ in range(100)]
        assert outsiders[0].recv(1) == b""  # there was no room for all
    assert in_threads(2, lambda rank: members[rank].all_gather(rank, int)) == [[0, 1]] * 2
    for each in (*members, rendezvous):
        each.close()


CROWDED = """
import resource, socket, threading
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from tests.transports.ranks import in_threads, meet_on
from railgauge.transports.store.hash_store import HashStore
rendezvous = meet_on(HashStore(), 0, 1)
address = rendezvous.place.address, rendezvous.place.port
print(*address, flush=True)
input()
member = rendezvous.join(0)
print(member.all_gather(0, int), flush=True)
member.close()
rendezvous.close()
"""


def test_outsiders_that_use_up_the_descriptors_keep_no_rank_out():
    with (
        subprocess.Popen(
            [sys.executable, "-c", CROWDED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(process.kill)
        host, port = process.stdout.readline().split()
        for _ in range(100):
            stack.enter_context(socket.create_connection((host, int(port)), 5))
        assert process.communicate("go on\n", timeout=HANGS_AFTER_S)[0] == "[0]\n"


@pytest.mark.parametrize("drops", [3, 10**6])
def test_a_connection_that_is_dropped_before_the_proof_is_made_anew_until_it_is_late(drops):
    """A hub that has no room for a while, and for ever."""
    key = HubPlace(address="127.0.0.1", port=9, interface="lo", host="gpu-01", network="n", key="00")
    with tcp.listen("127.0.0.1") as listener:
        place = dataclasses.replace(key, port=listener.getsockname()[1])

        def serve():
            with contextlib.suppress(OSError):
                for _ in range(drops):
                    sock, _ = listener.accept()
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    sock.close()
                sock, _ = listener.accept()
                with sock:
                    shake = ServerHandshake(b"s", HUB)
                    while not shake.done:
                        sock.sendall(shake.feed(sock.recv(1000)))

        threading.Thread(target=serve, daemon=True).start()
        if drops == 3:
            reach(place, "lo", b"s", timeout_s=20.0, deadline=time.monotonic() + HANGS_AFTER_S).close()
            return
        with pytest.raises(PeerLostError) as caught:
            reach(place, "lo", b"s", timeout_s=2.0, deadline=time.monotonic() + 2)
        listener.shutdown(socket.SHUT_RDWR)
    where = f"rank 0 at 127.0.0.1:{place.port} (lo of gpu-01): "
    assert str(caught.value).startswith((f"cannot join {where}", f"cannot connect to {where}"))  # as far as it came
    assert caught.value.rank == 0
