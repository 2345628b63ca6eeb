# SPDX-License-Identifier: Apache-2.0
"""One connection that is tried, on loopback: how far it comes, and what is said of where it ends."""

import errno
import select
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.patience import HANGS_AFTER_S

from railgauge.topo.findings.cluster.endpoints import Endpoint
from railgauge.topo.findings.cluster.reach import Hint, Stage
from railgauge.transports import tcp
from railgauge.transports.handshake import authenticate
from railgauge.transports.probe import answering as answering_module
from railgauge.transports.probe import attempt as module
from railgauge.transports.probe import hints
from railgauge.transports.probe.answering import Answering
from railgauge.transports.probe.attempt import Attempt
from railgauge.transports.probe.greeting import DATA, LENGTH, PROBE, TAKEN
from railgauge.transports.probe.rounds import opponents

HERE, THERE = "127.0.0.1", "127.0.0.2"


def tried(port, *, target="gpu2", secret=b"secret", there=THERE):
    ends = [Endpoint(interface="lo", address=address, uses=("NET/Socket/0",)) for address in (HERE, there)]
    return Attempt(("gpu1", target), (ends[0], ends[1]), (0, 0), port).run(secret)


@pytest.fixture
def port():
    """Where gpu2 answers."""
    answering = Answering("gpu2", b"secret")
    number = answering.listen(THERE)
    with answering.answering():
        yield number
    assert tried(number).errno == errno.ECONNREFUSED  # nothing listens any more


def test_two_nodes_that_know_each_other_exchange_data(port):
    assert tried(port) is None
    assert tried(port) is None


def test_another_node_and_another_program_are_outsiders(port):
    other = tried(port, target="gpu3")
    assert (other.stage, other.hint, other.answered_by) == (Stage.GREETING, Hint.STRANGER, "gpu2")
    assert tried(port, secret=b"another").hint is Hint.STRANGER


def test_a_node_that_is_slow_to_speak_is_waited_for_while_others_are_answered(port, monkeypatch):
    monkeypatch.setattr(answering_module, "GREETING_S", HANGS_AFTER_S)
    with socket.create_connection((THERE, port)) as slow:
        assert [tried(port) for _ in range(3)] == [None] * 3
        authenticate(slow, b"secret", PROBE, deadline=time.monotonic() + HANGS_AFTER_S)
        assert slow.recv(len("gpu2") + LENGTH.size).endswith(b"gpu2")


def test_a_port_without_a_listener_refuses():
    with tcp.listen(THERE) as listener:
        number = listener.getsockname()[1]
    found = tried(number)
    assert (found.stage, found.errno, found.hint) == (Stage.CONNECT, errno.ECONNREFUSED, Hint.NONE)


def test_a_listener_that_says_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr(module, "GREETING_S", 0.2)
    with tcp.listen(THERE) as listener:
        found = tried(listener.getsockname()[1])
    assert (found.stage, found.errno) == (Stage.GREETING, errno.ETIMEDOUT)


def test_data_has_a_limit_of_its_own_whatever_the_greeting_took(monkeypatch):
    """64 KiB need not fit into the socket's buffer: on networks it begins smaller than on loopback."""
    monkeypatch.setattr(module, "GREETING_S", 1.0)
    monkeypatch.setattr(module, "DATA_S", HANGS_AFTER_S)
    monkeypatch.setattr(module, "DATA", bytes(32 << 20))
    with tcp.listen(THERE) as listener, ThreadPoolExecutor(1) as pool:
        found = pool.submit(tried, listener.getsockname()[1])
        sock, _ = listener.accept()
        with sock:
            Answering("gpu2", b"secret")._prove(sock, time.monotonic() + HANGS_AFTER_S)
            sock.sendall(LENGTH.pack(4) + b"gpu2")
            time.sleep(module.GREETING_S)  # until the greeting's limit is over
            left = len(module.DATA)
            while left and (piece := sock.recv(1 << 20)):
                left -= len(piece)
            assert left == 0
            sock.sendall(TAKEN)
            assert found.result() is None


def test_a_network_that_has_no_route_is_told():
    found = tried(1, there="203.0.113.1")  # from a loopback address nothing leads outside
    assert (found.stage, found.hint) == (Stage.CONNECT, Hint.NO_ROUTE)


def test_data_that_vanishes_is_told_from_a_way_that_is_closed(port, monkeypatch):
    """Something in between passes on what is short."""
    monkeypatch.setattr(module, "DATA_S", 0.3)
    with tcp.listen("127.0.0.3") as listener:
        between = threading.Thread(target=pass_on_little, args=(listener, port))
        between.start()
        found = tried(listener.getsockname()[1], there="127.0.0.3")
        between.join()
    assert (found.stage, found.errno) == (Stage.DATA, errno.ETIMEDOUT)


def pass_on_little(listener, port):
    with listener.accept()[0] as outside, socket.create_connection((THERE, port)) as inside:
        passed = 0
        while ready := select.select([outside, inside], [], [])[0]:
            piece = ready[0].recv(len(DATA))
            passed += len(piece)
            if not piece:
                return
            if passed < 1000:
                (inside if ready[0] is outside else outside).sendall(piece)


@pytest.mark.parametrize("count", range(1, 10))
def test_everybody_meets_everybody_once_and_nobody_two_at_a_time(count):
    rendezvous = [list(opponents(count, me)) for me in range(count)]
    assert all(sorted(met) == [other for other in range(count) if other != me] for me, met in enumerate(rendezvous))
    if count % 2 == 0:
        for number in range(count - 1):
            assert all(rendezvous[rendezvous[me][number]][number] == me for me in range(count))


def test_dropped_packets_are_read_from_the_kernels_table(tmp_path, monkeypatch):
    table = tmp_path / "netstat"
    table.write_text("TcpExt: A IPReversePathFilter B\nTcpExt: 1 42 3\nIpExt: C\nIpExt: 4\n")
    monkeypatch.setattr(hints, "COUNTERS", str(table))
    assert hints.filtered_packets() == 42
    monkeypatch.setattr(hints, "COUNTERS", str(tmp_path / "none"))
    assert hints.filtered_packets() == 0


def test_an_address_that_nobody_answers_for_is_told(tmp_path, monkeypatch):
    table = tmp_path / "arp"
    head = "IP address       HW type     Flags       HW address            Mask     Device\n"
    row = "203.0.113.1      0x1         0x0         00:00:00:00:00:00     *        eth1\n"
    table.write_text(head + row)
    monkeypatch.setattr(hints, "ARP", str(table))
    monkeypatch.setattr(hints, "_is_routed", lambda source, target: True)
    assert hints.hint("10.0.0.1", ("203.0.113.1", 5)) is Hint.NO_NEIGHBOUR
    assert hints.hint("10.0.0.1", ("203.0.113.2", 5)) is Hint.NONE
