# SPDX-License-Identifier: Apache-2.0
import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from tests.hosts.netns import make_hosts
from tests.patience import HANGS_AFTER_S

from railgauge.topo.errors import AuthenticationError, UsageError, WaitTimeoutError
from railgauge.transports.init_method import open_store, split_init_method
from railgauge.transports.store import FileStore, HashStore, TCPStore

LONG = timedelta(seconds=20)


def opened(init_method, process=0, processes=2, timeout=LONG, secret=b"", **environ):
    return open_store(
        init_method, process=process, processes=processes, timeout=timeout, secret=secret, environ=environ
    )


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def meet(init_method, **options):
    """Two processes' stores, opened at the same time; what one says the other hears."""
    with ThreadPoolExecutor() as pool:
        stores = [each.result() for each in [pool.submit(opened, init_method, n, **options) for n in (1, 0)]]
    with stores[0], stores[1]:
        stores[0].set("a", "1")
        assert stores[1].get("a") == b"1"
        return stores


def test_tcp_meets_at_process_0(port):
    assert all(isinstance(store, TCPStore) for store in meet(f"tcp://127.0.0.1:{port}"))


def test_tcp_takes_ipv6(port):
    if not Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6 here")
    meet(f"tcp://[::1]:{port}")


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", " 127.0.0.1 "])
def test_env_meets_at_master_addr(port, address):
    meet("env://", MASTER_ADDR=address, MASTER_PORT=str(port))


def test_a_secret_is_wanted_of_all(port):
    meet(f"tcp://127.0.0.1:{port}", secret=b"secret")
    with opened(f"tcp://127.0.0.1:{port}", secret=b"secret"), pytest.raises(AuthenticationError):
        opened(f"tcp://127.0.0.1:{port}", 1)


def test_file_meets_in_a_file(tmp_path):
    stores = meet(f"file://{tmp_path}/a%20store")
    assert all(isinstance(store, FileStore) for store in stores)
    assert (tmp_path / "a store").exists()


def test_hash_is_for_one_process():
    assert isinstance(opened("hash://", processes=1), HashStore)
    with pytest.raises(UsageError, match="for one process"):
        opened("hash://", processes=2)


def test_an_agents_store_is_joined_by_process_0_too_and_without_the_secret():
    with TCPStore("127.0.0.1", 0, is_master=True) as agent:
        environ = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(agent.port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
        with opened("env://", secret=b"secret", **environ) as store:
            store.set("a", "1")
        assert agent.get("/worker/attempt_0/railgauge/turn/0/a") == b"1"
        with opened("env://", **environ) as again:  # as after a group that was closed
            assert not again.check(["a"])
            with opened("env://", 1, **environ) as late:
                assert late.get("a") == b"1"


def test_the_launchers_socket_is_taken_over():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port, descriptor = sock.getsockname()[1], sock.detach()
    environ = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RAILGAUGE_LISTEN_FD": str(descriptor)}
    with opened("env://", **environ) as master, opened("env://", 1, **environ) as other:
        other.set("a", "1")
        assert master.get("a") == b"1"


@pytest.mark.parametrize(
    ("init_method", "message"),
    [
        ("http://host:1", r"'http://host:1' is not an init method: use env://, tcp://, file://"),
        ("", "'' is not an init method"),
        ("10.0.0.1:29500", "is not an init method"),
        ("tcp://10.0.0.1", "expected tcp://HOST:PORT"),
        ("tcp://:29500", "expected tcp://HOST:PORT"),
        ("tcp://10.0.0.1:99999", "expected tcp://HOST:PORT"),
        ("tcp://10.0.0.1:0", "expected tcp://HOST:PORT"),
        ("tcp://fd00::1:29500", "expected tcp://HOST:PORT"),
        ("tcp://user@10.0.0.1:1", "expected tcp://HOST:PORT"),
        ("tcp://10.0.0.1:1/path", "expected tcp://HOST:PORT"),
        ("tcp://[::1:29500", "is not an init method"),
        ("tcp://10.0.0.1:1?rank=0", "only a location is allowed"),
        ("file://relative/path", "expected file:///PATH"),
        ("file://", "expected file:///PATH"),
        ("file:///folder/", "expected file:///PATH"),
        ("env://host", "takes no address; it reads MASTER_ADDR"),
    ],
)
def test_a_wrong_init_method_is_told_what_it_has_to_be(init_method, message):
    with pytest.raises(UsageError, match=message):
        opened(init_method)


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({}, "needs MASTER_ADDR and MASTER_PORT"),
        ({"MASTER_ADDR": "127.0.0.1"}, "needs MASTER_PORT"),
        ({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "many"}, "MASTER_PORT is 'many'"),
        ({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "70000"}, "MASTER_PORT is 70000: .*65535"),
        ({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "65536"}, "MASTER_PORT is 65536: .*65535"),
        ({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}, "MASTER_PORT is 0: .*between 1"),
        ({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "RAILGAUGE_LISTEN_FD": "x"}, "RAILGAUGE_LISTEN_FD is 'x'"),
        (
            {"MASTER_ADDR": "192.0.2.9", "MASTER_PORT": "29500"},
            r"^MASTER_ADDR 192.0.2.9 is not an address of rank 0's host",
        ),
    ],
)
def test_a_wrong_environment_is_told(environ, message):
    with pytest.raises(UsageError, match=message):
        opened("env://", **environ)


def test_a_store_that_never_comes_ends_within_the_timeout(port):
    with pytest.raises(WaitTimeoutError, match=rf"waited 0.3 s for the store of rank 0 at 127.0.0.1:{port}"):
        opened(f"tcp://127.0.0.1:{port}", 1, timeout=timedelta(milliseconds=300))


@pytest.mark.parametrize(
    ("init_method", "parts"),
    [
        ("tcp://h:1?rank=1&world_size=4", ("tcp://h:1", 1, 4)),
        ("file:///x?world_size=2", ("file:///x", None, 2)),
        ("env://?rank=0", ("env://", 0, None)),
        ("env://", ("env://", None, None)),
        ("tcp://[::1]:29500", ("tcp://[::1]:29500", None, None)),
    ],
)
def test_torchs_query_is_taken_off(init_method, parts):
    assert split_init_method(init_method) == parts


@pytest.mark.parametrize(
    ("init_method", "message"),
    [("tcp://h:1?rank=one", "rank is 'one'"), ("tcp://h:1?host=a", "unknown parameter host")],
)
def test_a_wrong_query_is_told(init_method, message):
    with pytest.raises(UsageError, match=message):
        split_init_method(init_method)


# Two hosts ------------------------------------------------------------------------------------------------------

OPEN = """
import os, sys
from datetime import timedelta
from railgauge.topo.errors import Error
from railgauge.transports.init_method import open_store
try:
    limit = timedelta(seconds=float(sys.argv[3]))
    store = open_store(
        sys.argv[1], process=int(sys.argv[2]), processes=2, timeout=limit, secret=b"secret", environ=os.environ
    )
    store.set(f"from {sys.argv[2]}", os.uname().nodename)
    print(store.get(f"from {1 - int(sys.argv[2])}").decode())
    store.add("done", 1)
    while store.get("done") != b"2" and sys.argv[2] == "0":
        pass
except Error as error:
    sys.exit(f"{error}")
"""


def command(init_method, process, timeout_s=20.0):
    return [sys.executable, "-P", "-c", OPEN, init_method, str(process), str(timeout_s)]


@pytest.fixture(scope="module")
def hosts():
    with make_hosts(2) as hosts:
        yield hosts


@pytest.mark.parametrize("where", ["tcp://10.77.0.1:29500", "tcp://rg-node1:29501", "tcp://[fd77::1]:29502", "file://"])
def test_two_hosts_meet(hosts, where, tmp_path):
    where = f"file://{tmp_path}/store" if where == "file://" else where
    with hosts.start(1, command(where, 1), stdout=subprocess.PIPE, text=True) as other:
        first = hosts.run(0, command(where, 0))
        assert (first.stdout, first.stderr) == ("rg-node2\n", "")
        assert other.communicate(timeout=HANGS_AFTER_S)[0] == "rg-node1\n"


def test_an_address_of_the_other_host_is_refused_at_once(hosts):
    done = hosts.run(0, command("tcp://10.77.0.2:29500", 0, 600))
    assert re.search(
        r"10.77.0.2 is not an address of rank 0's host \(rg-node1\); its addresses: .*eth0 10.77.0.1", done.stderr
    )


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("10.77.0.1", "connection refused: does rank 0 run at this"),
        ("10.88.0.1", "is that rank 0's address (MASTER_ADDR)"),
    ],
)
def test_what_is_between_two_hosts_is_told(hosts, address, reason):
    done = hosts.run(1, command(f"tcp://{address}:29510", 1, 0.5))
    assert f"waited 0.5 s for the store of rank 0 at {address}:29510: " in done.stderr
    assert reason in done.stderr


def test_packets_that_are_dropped_are_told(hosts):
    hosts.run(0, ["ip", "route", "add", "blackhole", "10.77.0.2/32"])
    try:
        done = hosts.run(1, command("tcp://10.77.0.1:29511", 1, 0.5))
    finally:
        hosts.run(0, ["ip", "route", "del", "blackhole", "10.77.0.2/32"])
    assert "no answer: does a firewall drop the packets" in done.stderr


def test_a_host_whose_name_is_a_loopback_address_at_home_is_met_all_the_same(hosts):
    """Debian's installer writes such a line."""
    names = Path("/etc/netns", hosts.namespaces[0], "hosts")
    before = names.read_text()
    names.write_text(f"127.0.1.1 rg-node1\n{before.replace('10.77.0.1 rg-node1', '')}")
    try:
        with hosts.start(1, command("tcp://rg-node1:29520", 1), stdout=subprocess.PIPE, text=True) as other:
            first = hosts.run(0, command("tcp://rg-node1:29520", 0))
            assert first.stdout == "rg-node2\n"
            assert "rg-node1 is a loopback address here: the store listens on eth0:10.77.0.1<0> too" in first.stderr
            assert other.communicate(timeout=HANGS_AFTER_S)[0] == "rg-node1\n"
    finally:
        names.write_text(before)
