# SPDX-License-Identifier: Apache-2.0
"""Runs railgauge between two guests, one scenario after another (scenarios.py). The other guest runs the same scenarios
in the same order.
"""

import ctypes
import functools
import os
import resource
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.vm.in_guest.every_collective import every_collective
from tests.vm.in_guest.scenarios import FIRST_PORT, IO, OF_RUNS, Together, command, connected, keep, load
from tests.vm.lab import ssh

from railgauge.topo.nccl.settings.algorithm import Collective

RANK = int(os.environ.pop("RANK"))
TIMEOUT = ("--timeout", "40")
OVER_IB = ("--expect-transport", "NET/IB")
SMALL = ("-b", "8", "-e", "200K", "-f", "160", "-n", "2", "-w", "1", "--json")
PLACE = {
    "RANK": str(RANK),
    "WORLD_SIZE": "2",
    "LOCAL_RANK": "0",
    "MASTER_ADDR": "10.77.1.1",
    "NCCL_SOCKET_IFNAME": "rail1",
}
"""The bootstrap goes by the second rail, so that it outlives the first."""
TOPOLOGY = "/tmp/topology.xml"
SAYING = {"NCCL_IB_TIMEOUT": "16", "NCCL_BUFFSIZE": "131072", "NCCL_DEBUG": "INFO"}
"""Small slots: to register memory takes long in emulation."""
ONE_RAIL = {"NCCL_IB_HCA": "=rxe0"}
LIBRARY = Path("/usr/lib/x86_64-linux-gnu/libibverbs.so.1")
CAP_IPC_LOCK = 14
ROCE_PORT = 4791  # IBTA annex A17: the UDP port of RoCE v2

together: Together


def begin(name: str, body: Callable[[], int], **settings: str) -> Callable[[], int]:
    """A scenario of both guests, which begin it together."""
    return together.begin(name, body, PLACE | SAYING | settings)


def run(name: str, *arguments: str, **settings: str) -> None:
    """`railgauge run` as one rank of two."""
    begin(name, command("run", "all_reduce", *SMALL, *TIMEOUT, *arguments), **settings)()


def tool(*command: str) -> None:
    subprocess.run(command, check=True)


class TrafficClasses:
    """The traffic classes of RoCE packets that come in by an interface while it is listened to."""

    def __init__(self, interface: str) -> None:
        self.seen: set[int] = set()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self._socket.bind((interface, 0))
        self._socket.settimeout(0.2)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen)

    def __enter__(self) -> "TrafficClasses":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while not self._over.is_set():
            try:
                packet = self._socket.recv(64)
            except TimeoutError:
                continue
            header = (packet[0] & 0xF) * 4
            if packet[9] == socket.IPPROTO_UDP and int.from_bytes(packet[header + 2 : header + 4]) == ROCE_PORT:
                self.seen.add(packet[1])


def two_rails() -> None:
    """Over each port as a NIC of its own, then over both as one. What the first scan finds the others read."""
    run("rails", *OVER_IB, "--counters", NCCL_IB_MERGE_NICS="0", NCCL_TOPO_DUMP_FILE=TOPOLOGY)
    SAYING["NCCL_TOPO_FILE"] = f"/tmp/topology.guest{RANK}.xml"
    run("merged", "-R", "1", *OVER_IB)


def settings() -> None:
    """Every collective over one device, with settings that queue pairs and packets show."""
    shown = {
        "NCCL_IB_TC": "104",
        "NCCL_IB_RETRY_CNT": "6",
        "NCCL_IB_QPS_PER_CONNECTION": "2",
        "NCCL_IB_SPLIT_DATA_ON_QPS": "1",
    }
    with TrafficClasses("rail0") as packets:
        begin("collectives", every_collective, **ONE_RAIL, **shown)()
    (IO / "traffic_classes").write_text(" ".join(map(str, sorted(packets.seen))))


def fallbacks() -> None:
    """What keeps ranks from NET/IB: names, GIDs, a library that one of them has not."""
    run("wrong_name", *OVER_IB, NCCL_IB_HCA="mlx5")
    run("forced", NCCL_IB_HCA="mlx5", NCCL_NET="IB")
    run("one_without", **({"NCCL_IB_HCA": "mlx5"} if RANK else {}))
    run("empty_gid", NCCL_IB_GID_INDEX="7", **ONE_RAIL)


def little_memory() -> None:
    """One rank may lock next to none; root may lock all it likes but for this capability."""
    body = command("run", "all_reduce", *SMALL, *TIMEOUT)

    def confined() -> int:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, 64 << 10))
        drop_capability(CAP_IPC_LOCK)
        return body()

    begin("little_memory", confined if RANK else body, **ONE_RAIL)()


def drop_capability(number: int) -> None:
    """Of this process: capset(2), version 3, effective, permitted and inheritable of numbers below 32, then above."""
    every = (1 << 32) - 1
    kept = every & ~(1 << number)
    header, data = struct.pack("Ii", 0x20080522, 0), struct.pack("6I", kept, kept, 0, every, every, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, data):
        raise OSError(ctypes.get_errno(), "capset")


def no_device() -> None:
    """One guest has no node of a device; then it has no device."""
    nodes, away = Path("/dev/infiniband"), Path("/dev/away")
    if RANK:
        nodes.rename(away)
    run("no_nodes", **ONE_RAIL)
    if RANK:
        away.rename(nodes)
        for rail in range(2):
            tool("rdma", "link", "delete", f"rxe{rail}")
    run("no_device", **ONE_RAIL)
    if RANK:
        for rail in range(2):
            tool("rdma", "link", "add", f"rxe{rail}", "type", "rxe", "netdev", f"rail{rail}")


def no_library() -> None:
    """One guest has no libibverbs."""
    away = LIBRARY.with_name("away")
    if RANK:
        LIBRARY.rename(away)
    run("no_library", **ONE_RAIL)
    if RANK:
        away.rename(LIBRARY)


def unlike_mtus() -> None:
    """The first rail of one guest takes shorter packets."""
    if RANK:
        tool("ip", "link", "set", "rail0", "mtu", "1500")
    run("unlike_mtus", *OVER_IB, **ONE_RAIL)
    if RANK:
        tool("ip", "link", "set", "rail0", "mtu", "9000")


def gids() -> None:
    """The first rail has a second address, and settings choose among its GIDs."""
    tool("ip", "address", "add", f"10.78.0.{RANK + 1}/24", "dev", "rail0")
    one = functools.partial(every_collective, [Collective.ALL_REDUCE])
    begin("by_range", one, NCCL_IB_ADDR_RANGE="10.78.0.0/16", **ONE_RAIL)()
    begin("by_family", one, NCCL_IB_ADDR_FAMILY="AF_INET6", **ONE_RAIL)()
    begin("by_index", one, NCCL_IB_GID_INDEX=str(gid_index(f"10.78.0.{RANK + 1}")), **ONE_RAIL)()


def holes() -> None:
    """The GID table of the first rail has a hole where its first address was."""
    tool("ip", "address", "del", f"10.77.0.{RANK + 1}/24", "dev", "rail0")
    run("holes", *OVER_IB, **ONE_RAIL)


def other_network() -> None:
    """The first rails of the guests are in networks that know nothing of each other; then the second rail also has a
    default route; then the first are in a common one too, but a setting chooses the other.
    """
    own, common = f"10.{90 + RANK}.0.1", f"10.77.0.{RANK + 1}/24"
    tool("ip", "address", "flush", "dev", "rail0")
    tool("ip", "address", "add", f"{own}/24", "dev", "rail0")
    run("other_network", **ONE_RAIL)
    tool("ip", "route", "add", "default", "via", "10.77.1.254", "dev", "rail1")
    run("default_route", **ONE_RAIL)
    tool("ip", "route", "del", "default")
    tool("ip", "address", "add", common, "dev", "rail0")
    run("other_gid", NCCL_IB_GID_INDEX=str(gid_index(own)), **ONE_RAIL)
    tool("ip", "address", "del", f"{own}/24", "dev", "rail0")


def gid_index(address: str) -> int:
    """Of an IPv4 address of the first rail, as RoCE v2."""
    port = Path("/sys/class/infiniband/rxe0/ports/1/gids")
    wanted = socket.inet_aton(address).hex(":", 2)
    return next(int(gid.name) for gid in port.iterdir() if gid.read_text().strip().endswith(f"ffff:{wanted}"))


def cluster_link() -> None:
    """The first guest starts a rank on each by ssh, which measure rail by rail; the other waits meanwhile."""
    if RANK == 0:
        nodes = ",".join(map(ssh.address, range(2)))
        body = command("cluster", "link", "-w", nodes, "--transport", "NET/IB", "-b", "64K", "-n", "4", "--json")
        settings = {"RAILGAUGE_SSH": ssh.SSH, "NCCL_IB_MERGE_NICS": "0", "NCCL_BUFFSIZE": SAYING["NCCL_BUFFSIZE"]}
        keep("cluster_link", body, settings)()


def loss() -> None:
    """Packets of the first rail are lost while data goes."""
    tool("tc", "qdisc", "add", "dev", "rail0", "root", "netem", "loss", "2%")
    run("loss", *OVER_IB, NCCL_IB_TIMEOUT="12", **ONE_RAIL)
    tool("tc", "qdisc", "del", "dev", "rail0", "root")


def endless(name: str) -> Callable[[], int]:
    """A run that ends when something ends it."""
    long = ("-b", "64K", "-e", "64K", "-n", "1000", "-w", "0", "-N", "0", "-c", "0", "--timeout", "20")
    return begin(name, command("run", "all_reduce", *long), **ONE_RAIL)


def link_down() -> None:
    """The first rail of one guest goes down while data goes."""
    wait = endless("link_down")
    connected("link_down")
    if RANK == 1:
        tool("ip", "link", "set", "rail0", "down")
    wait()


def port_down() -> None:
    """As link_down leaves it."""
    run("port_down", **ONE_RAIL)


def killed() -> None:
    """One guest ends without a word."""
    tool("ip", "link", "set", "rail0", "up")
    wait = endless("killed")
    connected("killed")
    if RANK == 1:
        (IO / "status").write_text("0")
        os.sync()
        Path("/proc/sysrq-trigger").write_text("b")
        time.sleep(60)
    wait()


def lists() -> None:
    """What a guest tells of itself, with and without its device nodes."""
    keep("list", command("run", "--list", "--json"), {})()
    nodes, away = Path("/dev/infiniband"), Path("/dev/away")
    nodes.rename(away)
    keep("without_nodes", command("run", "--list", "--json"), {})()
    away.rename(nodes)


def alone() -> None:
    """Several ranks on one guest that share no memory."""
    body = command("run", "all_reduce", *SMALL, *TIMEOUT, *OVER_IB)
    here = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(FIRST_PORT), "NCCL_SOCKET_IFNAME": "lo"}
    apart = PLACE | SAYING | ONE_RAIL | here | {"NCCL_SHM_DISABLE": "1"}
    waits = [keep(f"alone{rank}", body, apart | {"RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(2)]
    for wait in waits:
        wait()


def main() -> None:
    global together
    load(*OF_RUNS)
    together = Together(RANK, PLACE["MASTER_ADDR"])
    two_rails()
    (lists if RANK else alone)()
    settings()
    cluster_link()
    loss()
    fallbacks()
    little_memory()
    no_library()
    no_device()
    unlike_mtus()
    gids()
    holes()
    other_network()
    link_down()
    port_down()
    killed()


main()
