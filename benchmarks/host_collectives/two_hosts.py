# SPDX-License-Identifier: Apache-2.0
"""Two hosts in network namespaces, connected by a veth pair, each with half of the cores and a host name of its own."""

import contextlib
import os
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Self

INTERFACE = "eth0"
ADDRESSES = ("10.213.77.1", "10.213.77.2")


class Hosts:
    """The machine itself, or two hosts on it."""

    def __init__(self, count: int, agent: pathlib.Path | None = None) -> None:
        """`agent` stands in for ssh: AGENT [OPTIONS] ADDRESS COMMAND."""
        cores = sorted(os.sched_getaffinity(0))
        self.count = count
        self.agent = agent
        self.cores = [cores[i * len(cores) // count : (i + 1) * len(cores) // count] for i in range(count)]

    @property
    def interface(self) -> str:
        """By which the ranks reach each other."""
        return "lo" if self.count == 1 else INTERFACE

    def inside(self, host: int) -> list[str]:
        """What to put before a command that runs on this host."""
        if self.count == 1:
            return []
        cores = ",".join(map(str, self.cores[host]))
        rename = ["sh", "-c", 'hostname "$0"; exec "$@"', namespace(host)]
        return ["ip", "netns", "exec", namespace(host), "unshare", "--uts", "taskset", "-c", cores, *rename]

    def place(self, rank: int, ranks: int) -> int:
        """The host of a rank; the first half of them is on the first host."""
        return rank * self.count // ranks

    @classmethod
    @contextlib.contextmanager
    def made(cls, count: int) -> Iterator[Self]:
        """Make them, and remove them at the end. It takes the rights to make namespaces (root)."""
        if count == 1:
            yield cls(1)
            return
        with contextlib.ExitStack() as stack:
            for host in range(count):
                ip("netns", "add", namespace(host))
                stack.callback(ip, "netns", "delete", namespace(host))
            peer = ("type", "veth", "peer", "name", INTERFACE, "netns", namespace(1))
            ip("link", "add", INTERFACE, "netns", namespace(0), *peer)
            for host, address in enumerate(ADDRESSES):
                ip("-n", namespace(host), "address", "add", f"{address}/24", "dev", INTERFACE)
                for link in ("lo", INTERFACE):
                    ip("-n", namespace(host), "link", "set", link, "up")
            wait_until_up(count)
            agent = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())) / "agent"
            hosts = cls(count, agent)
            agent.write_text(hosts.agent_text())
            agent.chmod(0o700)
            yield hosts

    def agent_text(self) -> str:
        """A shell script that runs a command on the host with this address, as ssh would."""
        lines = ["#!/bin/sh", 'while [ "${1#-}" != "$1" ]; do shift; done', "address=$1", "shift", 'case "$address" in']
        for host, address in enumerate(ADDRESSES):
            words = " ".join(f"'{word}'" for word in self.inside(host))
            lines.append(f'{address}) exec {words} sh -c "$*" ;;')
        return "\n".join([*lines, "esac", 'echo "no host $address" >&2', "exit 1", ""])


def namespace(host: int) -> str:
    """Named after this process, so that two runs do not collide."""
    return f"rg-bench-{os.getpid()}-{host}"


def wait_until_up(count: int) -> None:
    """A link is up some time after both its ends are: until then no program uses the interface."""
    for host in range(count):
        show = ["ip", "-n", namespace(host), "-brief", "link", "show", "dev", INTERFACE]
        for _ in range(100):
            if subprocess.run(show, capture_output=True, text=True, check=True).stdout.split()[1] == "UP":
                break
            time.sleep(0.05)


def ip(*arguments: str) -> None:
    """Set up the network."""
    subprocess.run(["ip", *arguments], check=True)
