# SPDX-License-Identifier: Apache-2.0
"""Whole runs over several hosts (network namespaces), and over several nodes of one: what is planned is executed, and
what goes wrong on the way is named on every host, with nothing left behind.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from tests.cli.command import SMALL, clean_environment, command, railgauge
from tests.hosts.netns import Hosts, make_hosts
from tests.hosts.waiting import until
from tests.patience import HANGS_AFTER_S

from railgauge.topo.channels import graph_file
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.xml import topology_file

ENDLESS = ("-b", "1M", "-e", "1M", "-N", "0", "-c", "0")
BACKWARDS = """<graphs version="1">
  <graph id="0" pattern="4" nchannels="1" speedintra="1" speedinter="1" typeintra="PHB" typeinter="PHB">
    <channel><net dev="0"/><gpu dev="0x1"/><gpu dev="0"/><net dev="0"/></channel>
  </graph>
</graphs>
"""
"""One channel of a node with two ranks, from the second to the first."""


@pytest.fixture(scope="module")
def hosts():
    with make_hosts(3) as made:
        yield made


def place(rank: int, ranks: int, address: str, port: int = 29500, **more: str) -> dict[str, str]:
    own = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": address, "MASTER_PORT": str(port)}
    return clean_environment(**own, **more)


def start(
    hosts: Hosts,
    layout: tuple[int, ...],
    *args: str,
    by_rank: tuple[dict[str, str], ...] = (),
    master: str | None = None,
    **env: str,
) -> list[subprocess.Popen]:
    """A process on each host of `layout`, started by hand as with PyTorch; `by_rank` is what each has of its own."""
    master = master or hosts.addresses[layout[0]]
    own = by_rank or ({},) * len(layout)
    return [
        hosts.start(
            host,
            command("run", "all_reduce", *args),
            env=place(rank, len(layout), master, **env, **own[rank]),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, host in enumerate(layout)
    ]


def ended(ranks: list[subprocess.Popen]) -> list[tuple[int, str, str]]:
    """Status, stdout and stderr of each rank."""
    outputs = [rank.communicate(timeout=HANGS_AFTER_S) for rank in ranks]
    return [(rank.returncode, *output) for rank, output in zip(ranks, outputs, strict=True)]


def document(ranks: list[subprocess.Popen]) -> dict:
    """Rank 0's document, the only output of a run that went well."""
    first, *others = ended(ranks)
    assert first[0] == 0, first[2]
    assert [(status, out) for status, out, _ in others] == [(0, "")] * len(others)
    return json.loads(first[1])


def assert_right(got: dict, ranks: int, nodes: int) -> None:
    assert (got["status"], got["ranks"], got["nodes"]) == ("ok", ranks, nodes)
    assert all(row[way]["wrong"] == 0 for row in got["rows"] for way in ("out_of_place", "in_place"))
    assert all(row["predicted_busbw_gb_per_s"] > 0 for row in got["rows"])
    assert all(c["via"] == c["planned"] for c in got["connections"])
    assert all(c["bytes_sent"] == c["bytes_received"] for c in got["connections"])
    used = {c["channel"] for c in got["connections"] if c["bytes_sent"]}  # by a ring or a tree
    within = [c for c in got["connections"] if c["channel"] in used]
    assert {c[end] for c in within for end in ("from", "to")} == set(range(ranks))
    assert all(c["bytes_sent"] for c in within)


def two_nodes_here(ranks: int, *args: str) -> list[subprocess.Popen]:
    """The ranks of two nodes on this machine, in halves."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return [
        subprocess.Popen(
            command("run", "all_reduce", *args),
            env=place(rank, ranks, "127.0.0.1", port, NCCL_SOCKET_IFNAME="lo", NCCL_HOSTID="ab"[2 * rank // ranks]),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]


def vias(got: dict, on_host: tuple[int, ...]) -> dict[bool, set[str]]:
    """The transports within hosts (True) and between them (False)."""
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for c in got["connections"]:
        found[on_host[c["from"]] == on_host[c["to"]]].add(c["via"])
    return found


@pytest.mark.parametrize("layout", [(0, 1), (0, 1, 0, 1), (0, 0, 1, 2, 2)], ids=["1+1", "by node", "2+1+2"])
def test_ranks_of_several_hosts_run_over_shared_memory_within_and_sockets_between(hosts, layout):
    got = document(start(hosts, layout, *SMALL, "--json"))
    assert_right(got, len(layout), len(set(layout)))
    several = len(layout) > len(set(layout))
    assert vias(got, layout) == {True: {"SHM"} if several else set(), False: {"NET/Socket/0"}}


def test_processes_of_several_ranks_each_are_joined_in_the_same_way(hosts):
    got = document(start(hosts, (0, 1), *SMALL, "-g", "2", "--json"))
    assert_right(got, 4, 2)
    assert vias(got, (0, 0, 1, 1)) == {True: {"SHM"}, False: {"NET/Socket/0"}}


def test_channels_are_spread_over_all_interfaces_and_each_carries_its_part():
    with make_hosts(2) as own:
        peer = ("type", "veth", "peer", "name", "eth1", "netns", own.namespaces[1])
        ip(own, 0, "link", "add", "eth1", *peer)
        for host, address in enumerate(("10.78.0.1", "10.78.0.2")):
            ip(own, host, "address", "add", f"{address}/24", "dev", "eth1")
            ip(own, host, "link", "set", "eth1", "up")
        until(lambda: all(runs(own, host, "eth1") for host in (0, 1)))  # the kernel tells of it up to a second later
        got = document(start(own, (0, 1), "-b", "1M", "-e", "1M", "--json", NCCL_SOCKET_IFNAME="eth0,eth1"))
        carried = [sent_by(own, 0, interface) for interface in ("eth0", "eth1")]
    assert_right(got, 2, 2)
    for device, on_wire in enumerate(carried):
        ends = [c for c in got["connections"] if (c["from"], c["via"]) == (0, f"NET/Socket/{device}")]
        sent = sum(c["bytes_sent"] for c in ends)
        assert sent > 10 << 20
        assert sent < on_wire < 1.1 * sent + (1 << 20)


def test_hosts_without_ipv4_meet_and_run_over_ipv6():
    with make_hosts(2) as own:
        for host in (0, 1):
            ip(own, host, "-4", "address", "flush", "dev", "eth0")
            ip(own, host, "-4", "address", "flush", "dev", "lo")
        got = document(start(own, (0, 1), *SMALL, "--json", master="fd77::1"))
    assert_right(got, 2, 2)


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
def test_the_log_has_nccls_lines_of_both_ends(hosts, family):
    asked = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET", "NCCL_SOCKET_FAMILY": family}
    first, second = ended(start(hosts, (0, 1), *SMALL, **asked))
    assert (first[0], second[0]) == (0, 0)
    assert re.search(r"\[0\] NCCL INFO Channel 00/0 : 0\[0\] -> 1\[1\] \[send\] via NET/Socket/0$", first[2], re.M)
    assert re.search(r"\[1\] NCCL INFO Channel 00/0 : 0\[0\] -> 1\[1\] \[receive\] via NET/Socket/0$", second[2], re.M)
    assert re.search(r"\[0\] NCCL INFO NET/Socket : Using \[0\]eth0:\S+<0>$", first[2], re.M)
    assert "NCCL INFO NET/Socket: Using 0 threads and 1 sockets per thread" in second[2]
    assert "0 -> 1 not via SHM: they are on different hosts, rg-node1 and rg-node2" in first[2]


def test_each_node_dumps_under_its_own_name_what_can_be_read_again(hosts, tmp_path):
    dumps = {"NCCL_TOPO_DUMP_FILE": str(tmp_path / "topo.xml"), "NCCL_GRAPH_DUMP_FILE": str(tmp_path / "graph.txt")}
    document(start(hosts, (0, 1, 1), *SMALL, "--json", **dumps))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("graph.rg-node1.txt", "graph.rg-node2.txt", "topo.rg-node1.xml", "topo.rg-node2.xml")
    ]
    system = build_system(topology_file.load(str(tmp_path / "topo.rg-node2.xml")), host_ranks=2)
    assert graph_file.load(str(tmp_path / "graph.rg-node2.txt"), system).ring.channels[0].nets == (0, 0)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, "(is gone|stopped answering|closed the connection|connection broke)"),
        (signal.SIGSTOP, "stopped answering"),
    ],
)
def test_a_rank_that_is_killed_or_stopped_is_named_on_all_hosts(hosts, number, words):
    ranks = start(hosts, (0, 1, 2), *ENDLESS, "--timeout", "15")  # they have as long to meet
    wait_for_rows(ranks[0])
    hit = pid_of_rank(hosts, 2)
    os.kill(hit, number)
    first, second = ended(ranks[:2])
    for status, _, errors in (first, second):
        assert status == 4
        assert re.search(rf"rank 2\b.* {words}", errors)
    with contextlib.suppress(ProcessLookupError):
        os.kill(hit, signal.SIGCONT)
    assert ended(ranks[2:])[0][0] != 0
    assert_nothing_left(hosts)


def test_a_cable_pulled_in_the_middle_ends_everywhere_within_the_timeout(hosts):
    with make_hosts(2) as own:
        ranks = start(own, (0, 1), *ENDLESS, "--timeout", "15")
        wait_for_rows(ranks[0])
        own.cut(1)
        (status, _, said), (other_status, _, other_said) = ended(ranks)
        assert (status, other_status) == (4, 4)
        assert "rank 1 on rg-node2 stopped answering" in said
        assert "rank 0 stopped answering" in other_said
        assert_nothing_left(own)


def test_ctrl_c_on_one_host_ends_the_others(hosts):
    ranks = start(hosts, (0, 1), *ENDLESS, "--timeout", "20")
    wait_for_rows(ranks[0])
    os.kill(pid_of_rank(hosts, 1), signal.SIGINT)
    first, second = ended(ranks)
    assert (first[0], second[0]) == (4, 130)
    assert "interrupted" in first[2]
    assert_nothing_left(hosts)


def test_a_flipped_bit_on_the_wire_is_found(hosts):
    small = ("-b", "64", "-e", "64", "-n", "1", "-w", "0")
    first, _ = ended(start(hosts, (0, 1), *small, "--fault", "flip:rank=1"))
    assert first[0] == 4
    assert re.search(r"rank \d: \d+ of 16 elements wrong .* index \d+", first[2])


def test_an_interface_that_no_other_host_reaches_is_named_with_both_addresses():
    with make_hosts(2) as own:
        for step in ("link add ib0 type veth peer name nowhere", "link set ib0 up", "address add 10.88.0.2/24 dev ib0"):
            ip(own, 1, *step.split())
        ip(own, 1, "link", "set", "nowhere", "up")
        results = ended(start(own, (0, 1), *SMALL, "--timeout", "12", by_rank=({}, {"NCCL_SOCKET_IFNAME": "=ib0"})))
    for status, _, errors in results:
        assert status == 4
        assert re.search(r"cannot connect from eth0 \(10.77.0.1\) to rank 1 at 10.88.0.2:\d+: Network is unr", errors)
        assert "NCCL_SOCKET_IFNAME" in errors


def test_a_rank_without_an_interface_to_use_is_told_of_on_all_hosts(hosts):
    by_rank = ({}, {}, {"NCCL_SOCKET_IFNAME": "nosuch"})
    results = ended(start(hosts, (0, 1, 1), *SMALL, "--timeout", "10", by_rank=by_rank))
    assert all(status != 0 for status, _, _ in results)
    assert "NCCL_SOCKET_IFNAME=nosuch matches no interface" in results[0][2]


def test_two_hostids_on_one_machine_are_two_nodes_over_lo():
    got = document(two_nodes_here(4, *SMALL, "--json"))
    assert_right(got, 4, 2)
    assert vias(got, (0, 0, 1, 1)) == {True: {"SHM"}, False: {"NET/Socket/0"}}


def test_a_graph_file_is_executed_by_every_node(tmp_path):
    graph = tmp_path / "graph.txt"
    graph.write_text(BACKWARDS)
    got = document(two_nodes_here(4, *SMALL, "--json", "--graph", str(graph)))
    assert_right(got, 4, 2)
    ring = {(c["from"], c["to"]) for c in got["connections"] if c["channel"] == 0}  # trees have those after it
    assert ring == {(1, 0), (0, 3), (3, 2), (2, 1)}


def test_without_shared_memory_a_host_runs_over_sockets():
    result = railgauge(
        *("run", "all_reduce", "--ranks", "3", *SMALL, "--json"), NCCL_SHM_DISABLE="1", NCCL_SOCKET_IFNAME="lo"
    )
    assert result.returncode == 0, result.stderr
    got = json.loads(result.stdout)
    assert_right(got, 3, 1)
    assert {c["via"] for c in got["connections"]} == {"NET/Socket/0"}


def ip(hosts: Hosts, host: int, *arguments: str) -> None:
    """Change the network of a host."""
    subprocess.run(["ip", "-n", hosts.namespaces[host], *arguments], check=True, timeout=HANGS_AFTER_S)


def sent_by(hosts: Hosts, host: int, interface: str) -> int:
    """Bytes that went out by an interface."""
    return int(hosts.run(host, ["cat", f"/sys/class/net/{interface}/statistics/tx_bytes"]).stdout)


def runs(hosts: Hosts, host: int, interface: str) -> bool:
    """Whether an interface is up and running."""
    return hosts.run(host, ["cat", f"/sys/class/net/{interface}/operstate"]).stdout.strip() == "up"


def pid_of_rank(hosts: Hosts, host: int) -> int:
    """The process of the one rank on a host."""
    return next(pid for pid in hosts.pids(host) if b"all_reduce" in Path(f"/proc/{pid}/cmdline").read_bytes())


def wait_for_rows(rank: subprocess.Popen) -> None:
    """Until the table of rank 0 has its first row: everything is connected and moving."""
    for line in rank.stdout:
        if line.strip() and not line.startswith("#"):
            return


def assert_nothing_left(hosts: Hosts) -> None:
    assert [hosts.pids(host) for host in range(len(hosts.names))] == [[]] * len(hosts.names)
