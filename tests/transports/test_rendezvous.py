# SPDX-License-Identifier: Apache-2.0
"""Processes meet, or say within the timeout who is missing or wrong, on every rank that can know."""

import contextlib
import itertools
import json
import logging
import re
import socket
import threading
import time
from datetime import timedelta

import pytest
from tests.patience import FAR_S, HANGS_AFTER_S
from tests.transports.ranks import LOOPBACK, in_threads, meet_on, on_processes

from railgauge.topo.errors import (
    AuthenticationError,
    MismatchError,
    PeerLostError,
    RunError,
    UnavailableError,
    UsageError,
)
from railgauge.transports import hub_connections
from railgauge.transports.frame import FrameKind, pack
from railgauge.transports.handshake import HUB, authenticate
from railgauge.transports.hub_place import HubPlace
from railgauge.transports.store.hash_store import HashStore
from railgauge.transports.store.prefix_store import PrefixStore
from railgauge.transports.store.tcp_store import TCPStore


def come(*places, timeout_s=60.0, store=None, **others):
    """What each process's join returns or raises; a place is (process, processes) or with more for meet()."""
    store = store or HashStore()
    opened = []

    def process_main(number):
        process, processes, *more = places[number]
        settings = {"timeout_s": timeout_s} | others | (more[0] if more else {})
        rendezvous = meet_on(store, process, processes, **settings)
        opened.append(rendezvous)
        return rendezvous.join(process * settings.get("ranks_per_process", 1))

    results = in_threads(len(places), process_main)
    for each in [r for r in results if not isinstance(r, BaseException)] + opened:
        each.close()
    return results


def texts(errors):
    return [f"{type(error).__name__}: {error}" for error in errors]


def test_ranks_that_do_not_come_are_named_to_all_who_have():
    errors = come((0, 8), *((n, 8) for n in (1, 2, 4, 5, 6)), timeout_s=8.0)
    host = re.escape(socket.gethostname())
    assert len(errors) == 6
    for text in texts(errors):
        assert re.fullmatch(f"PeerLostError: waited 8 s for ranks 3 and 7 of 8; last heard from {host}", text)
    assert {error.rank for error in errors} == {3}


def test_what_another_rank_says_of_its_end_is_one_line_that_steers_no_terminal():
    text = "line\n\x1b[2J\r\tend"
    for failing in (0, 1):
        store = HashStore()
        rendezvous = [
            meet_on(store, process, 2 + failing) for process in range(2)
        ]  # with a third they are still awaited
        threading.Timer(0.3, rendezvous[failing].fail, [text]).start()

        def body(process, rendezvous=rendezvous):
            with contextlib.closing(rendezvous[process].join(process)) as member:
                raise member.wait_for_failure(RunError("nobody told"))

        told = in_threads(2, body)
        assert {str(error).rpartition(": ")[2] for error in told} == {"line \ufffd[2J\ufffd end"}
        rendezvous[0].close()


def test_a_process_0_that_does_not_come_is_named_with_those_who_have():
    for text in texts(come((1, 4), (3, 4), timeout_s=8.0)):
        assert text == (
            "PeerLostError: waited 8 s for process 0 of 4, which has not arrived; "
            f"here are processes 1 and 3, on {socket.gethostname()}"
        )
    (text,) = texts(come((1, 4), timeout_s=0.5))
    assert text.endswith(f"; here is process 1, on {socket.gethostname()}")


def test_a_rank_that_gives_up_first_knows_who_is_missing_too():
    waiting, patient = come((1, 3, {"timeout_s": 3.0}), (0, 3, {"timeout_s": FAR_S}))
    assert re.fullmatch(r"waited \d s for rank 2 of 3; last heard from \S+", str(waiting))
    assert re.search(r"rank 1: waited \d s for rank 2 of 3", str(patient))


@pytest.mark.parametrize(
    ("places", "problem"),
    [
        (((0, 2), (1, 4)), "it was started with world size 4, rank 0 with 2"),
        (((0, 2), (1, 2, {"version": "9"})), "it runs railgauge 9, rank 0 runs 1"),
        (((0, 2), (1, 2, {"ranks_per_process": 2})), "it was started with world size 4, rank 0 with 2"),
    ],
)
def test_a_rank_that_does_not_belong_ends_the_waiting_of_all_at_once(places, problem):
    errors = come(*places, timeout_s=FAR_S)
    for error in errors:
        who = "this rank" if isinstance(error, UsageError) else "rank [12] on .*"
        assert isinstance(error, UsageError | RunError)
        assert re.match(f"{who} cannot join: {problem}", str(error))
    assert sum(isinstance(error, UsageError) for error in errors) == 1


def test_once_all_have_joined_a_rank_that_comes_twice_does_no_harm():
    def body(bootstrap):
        bootstrap.barrier()
        if bootstrap.rank == 1:
            with pytest.raises(UsageError, match="two processes came as rank 1"):
                meet_on(store, 1, 2).join(1)
        return bootstrap.all_gather(bootstrap.rank, int)

    store = HashStore()
    assert on_processes(2, body, store) == [[0, 1]] * 2


TWICE = r"two processes came as rank {}: pid \d+ on \S+ \(127\.0\.0\.1:\d+\) and pid \d+ on \S+ \(127\.0\.0\.1:\d+\): "


@pytest.mark.parametrize("secret", [b"s", b""])
def test_two_processes_of_one_rank_end_the_waiting_of_all_and_both_are_named(secret):
    for error in come((0, 3), (1, 3), (1, 3), secret=secret, timeout_s=FAR_S):
        assert isinstance(error, MismatchError)
        assert re.match(TWICE.format(1), str(error))


@pytest.mark.parametrize("late", [0, 1])
def test_without_a_secret_a_rank_that_comes_twice_ends_a_job_that_may_be_mixed(late):
    """The ranks 0 and 1 that met may be of two jobs, whose others now come."""

    def process_main(number):
        meeting = meet_on(store, number, 2, secret=b"", timeout_s=FAR_S)
        try:
            bootstrap = meeting.join(number)
            with contextlib.closing(bootstrap):
                bootstrap.barrier()
                met[number].set()
                raise bootstrap.wait_for_failure(RunError("nobody told"), limit_s=HANGS_AFTER_S)
        finally:
            meeting.close()

    def comes_late(_):
        for each in met:
            each.wait()
        return meet_on(store, late, 2, secret=b"", timeout_s=FAR_S).join(late)

    store, met = HashStore(), (threading.Event(), threading.Event())
    for error in in_threads(3, lambda number: comes_late(number) if number == 2 else process_main(number)):
        assert isinstance(error, MismatchError), error
        assert re.match(TWICE.format(late), str(error))


def test_an_earlier_runs_hub_that_is_gone_is_no_second_process_0():
    store = HashStore()
    gone = meet_on(store, 0, 1, secret=b"")
    gone._hub.stop()
    with pytest.raises(UsageError, match="or does an earlier run still use this store"):
        meet_on(store, 0, 1, secret=b"", timeout_s=5)


def test_two_processes_0():
    errors = come((0, 2), (0, 2), timeout_s=5.0)
    assert sum("process 0 has already arrived, at 127.0.0.1:" in str(error) for error in errors) == 1


@pytest.mark.parametrize(("ours", "theirs"), [(b"a", b"b"), (b"a", b""), (b"", b"b")])
def test_another_secret_is_refused_at_once_and_logged(ours, theirs, caplog):
    with caplog.at_level(logging.WARNING):
        here, there = come((0, 2), (1, 2, {"secret": theirs}), secret=ours, timeout_s=FAR_S)
    assert isinstance(there, AuthenticationError)
    assert re.match(r"the job secret here differs from that of 127\.0\.0\.1:\d+", str(there))
    assert re.match("rank 1 on .*: " + re.escape(str(there)), str(here))
    assert re.search(r"rejected 127\.0\.0\.1:\d+: its job secret differs", caplog.text)


def test_a_process_without_an_interface_tells_the_others():
    errors = come((0, 2), (1, 2, {"environ": {"NCCL_SOCKET_IFNAME": "wlan"}}), timeout_s=30.0)
    assert isinstance(errors[1], UnavailableError)
    assert re.search("rank 1 on .*NCCL_SOCKET_IFNAME=wlan matches no interface", str(errors[0]))
    errors = come((0, 2, {"environ": {"NCCL_SOCKET_IFNAME": "wlan"}}), (1, 2), timeout_s=30.0)
    assert isinstance(errors[0], UnavailableError)
    assert re.search("rank 0 on .*NCCL_SOCKET_IFNAME=wlan matches no interface", str(errors[1]))


def test_ctrl_c_while_process_0_is_awaited_is_told_to_it_when_it_comes():
    class Interrupted(HashStore):
        def wait(self, keys, timeout=None):
            raise KeyboardInterrupt

        def set(self, key, value):
            store.set(key, value)

    store = HashStore()
    with pytest.raises(KeyboardInterrupt):
        meet_on(Interrupted(), 1, 2)
    (error,) = come((0, 2), store=store, timeout_s=30.0)
    assert re.search(r"rank 1 on \S+: interrupted", str(error))


def test_the_port_of_nccl_comm_id_is_taken_or_said_to_be_in_use():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        environ = {"NCCL_COMM_ID": f"127.0.0.1:{taken.getsockname()[1]}"}
        errors = come((0, 2, {"environ": environ}), (1, 2), timeout_s=30.0)
        assert "rank 0 cannot listen on lo, 127.0.0.1 port" in str(errors[0])
        assert "Address already in use" in str(errors[1])
    rendezvous = meet_on(HashStore(), 0, 1, environ=environ)
    assert f"{rendezvous.place.address}:{rendezvous.place.port}" == environ["NCCL_COMM_ID"]
    rendezvous.join(0).close()
    rendezvous.close()


def test_a_hub_on_another_hosts_loopback_is_said_at_once():
    store = HashStore()
    why = "skipped: eth0 (no carrier)"
    far = HubPlace(address="127.0.0.1", port=9, interface="lo", host="gpu-01", network="another", key="00", reason=why)
    store.set("railgauge/hub", json.dumps(far.to_dict()))
    told = f"where no other host can reach it (it uses lo: {why}): set NCCL_SOCKET_IFNAME on gpu-01"
    with pytest.raises(UsageError, match=re.escape(told)):
        meet_on(store, 1, 2)


FAR = HubPlace(address="10.0.0.1", port=1, interface="eth0", host="gpu-01", network="n", key="00").to_dict()


@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"x", b"[" * 3000, b'{"address": "a"}', b"{}" * 4000, b'"\xff"'),
        *(json.dumps(FAR | {"port": port}).encode() for port in (-1, 0, 65536, 10**30)),
    ],
)
def test_what_is_no_address_in_the_store_is_said(value):
    store = HashStore()
    store.set("railgauge/hub", value)
    with pytest.raises(RunError, match="the store's value of railgauge/hub is not an address"):
        meet_on(store, 1, 2)


def test_a_hub_that_has_ended_refuses_and_is_named():
    store = HashStore()
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    near = meet_on(HashStore(), 0, 1)
    near.join(0).close()
    near.close()
    place = near.place.to_dict() | {"port": port}
    store.set("railgauge/hub", json.dumps(place))
    with pytest.raises(PeerLostError, match=rf"^cannot connect to rank 0 at 127.0.0.1:{port} \(lo of .*refused"):
        meet_on(store, 1, 2).join(1)


def test_the_interface_and_the_reason_are_said(capfd):
    come((0, 1), environ=LOOPBACK | {"NCCL_DEBUG": "INFO"})
    said = capfd.readouterr().err
    assert "NCCL INFO Bootstrap: Using lo:127.0.0.1<0>\n" in said
    assert "using lo: NCCL_SOCKET_IFNAME=lo\n" in said


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_failing_while_others_are_awaited_ends_all_at_once(failing):
    store = HashStore()
    rendezvous = [meet_on(store, process, 4, timeout_s=FAR_S) for process in range(3)]
    thread = threading.Timer(0.3, rendezvous[failing].fail, ["interrupted"])
    thread.start()
    for error in in_threads(3, lambda process: rendezvous[process].join(process)):
        assert isinstance(error, RunError)
        assert re.search(rf"rank {failing} on \S+: interrupted", str(error))
    thread.join()
    rendezvous[0].close()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_processes_meet_in_whatever_order_they_come(order):
    store = HashStore()

    def process_main(turn):
        time.sleep(0.05 * turn)
        rendezvous = meet_on(store, order[turn], 3, ranks_per_process=1)
        bootstrap = rendezvous.join(order[turn])
        got = bootstrap.all_gather(bootstrap.rank, int)
        bootstrap.close()
        rendezvous.close()
        return got

    assert in_threads(3, process_main) == [[0, 1, 2]] * 3


def test_a_rank_refused_at_the_hub_is_in_the_message_about_the_missing():
    rendezvous = meet_on(HashStore(), 0, 2, timeout_s=1.5)
    with socket.create_connection((rendezvous.place.address, rendezvous.place.port)) as outsider:
        with pytest.raises(AuthenticationError):
            authenticate(outsider, b"another", HUB, deadline=time.monotonic() + HANGS_AFTER_S)
        with pytest.raises(PeerLostError) as caught:
            rendezvous.join(0)
    rendezvous.close()
    assert re.fullmatch(
        r"waited 1.5 s for rank 1 of 2; last heard from \S+; refused: 127\.0\.0\.1, its job secret differs, .*",
        str(caught.value),
    )


def test_a_rank_refused_at_the_store_is_in_the_message_about_the_missing():
    store = TCPStore("127.0.0.1", 0, is_master=True, secret=b"s")
    with pytest.raises(AuthenticationError):
        TCPStore("127.0.0.1", store.port, timeout=timedelta(seconds=5), secret=b"another")
    rendezvous = meet_on(PrefixStore("job", store), 0, 2, timeout_s=1.0)
    with pytest.raises(PeerLostError, match=r"rank 1 of 2; .*; refused: 127\.0\.0\.1, its job secret differs"):
        rendezvous.join(0)
    rendezvous.close()
    store.close()


def test_a_rank_that_was_refused_is_not_called_silent_later(monkeypatch, caplog):
    monkeypatch.setattr(hub_connections, "IDENTIFY_S", 0.2)
    rendezvous = meet_on(HashStore(), 0, 1)
    bootstrap = rendezvous.join(0)
    with socket.create_connection((rendezvous.place.address, rendezvous.place.port), timeout=HANGS_AFTER_S) as again:
        authenticate(again, rendezvous.place.secret(b"s"), HUB, deadline=time.monotonic() + HANGS_AFTER_S)
        again.sendall(
            pack(FrameKind.HELLO, 0, {"rank": 0, "world_size": 1, "version": "1", "host": "gpu-02\x1b[2J", "pid": 7})
        )
        while again.recv(100):
            pass
        time.sleep(0.5)
    assert bootstrap.all_gather(1, int) == [1]
    bootstrap.close()
    rendezvous.close()
    assert "rejected rank 0 on gpu-02\ufffd[2J: two processes came as rank 0" in caplog.text
    assert "said too little" not in caplog.text
