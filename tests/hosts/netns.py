# SPDX-License-Identifier: Apache-2.0
"""Hosts to start ranks on: network namespaces on one switch, each with its own host name and /etc/hosts.

    with make_hosts(2) as hosts:                  # skips the test where namespaces cannot be made
        hosts.run(0, ["ping", "-c1", hosts.addresses[1]])
        server = hosts.start(1, ["railgauge", ...], stdout=PIPE)

Each host has lo and `eth0` (10.77.0.1, 10.77.0.2, ... and fd77::1, ...); the names (`rg-node1`, ...) are known on all.
The switch is a namespace too, so nothing of it is seen from outside; all hosts share the disk. A host's processes are
killed when it goes; hosts that a killed test run left behind go with the next call.
"""

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import HANGS_AFTER_S

PREFIX = "rg-hosts"
_numbers = itertools.count()

AS_HOST = 'hostname "$0" && exec "$@"'
"""Run with unshare --uts: gives the process the host's name."""


class Hosts:
    """N hosts that reach each other, numbered from 0."""

    def __init__(self, count: int) -> None:
        base = f"{PREFIX}-{os.getpid()}-{next(_numbers)}"
        self.names = [f"rg-node{i + 1}" for i in range(count)]
        self.addresses = [f"10.77.0.{i + 1}" for i in range(count)]
        self.namespaces = [f"{base}-{i + 1}" for i in range(count)]
        self._switch = f"{base}-switch"
        self._started: list[subprocess.Popen] = []
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def command(self, host: int, command: list[str]) -> list[str]:
        """`command` as it is started from outside to run on that host."""
        return [
            *("ip", "netns", "exec", self.namespaces[host]),
            *("unshare", "--uts", "sh", "-c", AS_HOST, self.names[host], *command),
        ]

    def run(self, host: int, command: list[str], **options) -> subprocess.CompletedProcess:
        """subprocess.run on that host: text, output captured, with an end, unless `options` say otherwise."""
        options = {"text": True, "capture_output": True, "timeout": HANGS_AFTER_S} | options
        return subprocess.run(self.command(host, command), check=False, **options)

    def start(self, host: int, command: list[str], **options) -> subprocess.Popen:
        """subprocess.Popen on that host; killed at the latest with the host."""
        self._started.append(subprocess.Popen(self.command(host, command), **options))
        return self._started[-1]

    def pids(self, host: int) -> list[int]:
        """What runs on that host."""
        return _pids(self.namespaces[host])

    def cut(self, host: int) -> None:
        """Disconnect that host's cable: packets are lost without notice."""
        _ip("-n", self._switch, "link", "set", f"port{host}", "nomaster")

    def ip(self, host: int, *arguments: str) -> str:
        """ip(8) on that host."""
        return _ip("-n", self.namespaces[host], *arguments)

    def port(self, host: int, number: int, *settings: str) -> None:
        """Set something of the switch's end of a host's `eth{number}`."""
        _ip("-n", self._switch, "link", "set", f"port{host}-{number}", *settings)

    def add_rail(self, number: int) -> None:
        """Connect all hosts by another switch too: `eth{number}` with 10.78.{number}.1, .2, ..."""
        bridge = f"bridge{number}"
        _ip("-n", self._switch, "link", "add", bridge, "type", "bridge")
        _ip("-n", self._switch, "link", "set", bridge, "up")
        for host in range(len(self.namespaces)):
            peer = ("peer", "name", f"port{host}-{number}", "netns", self._switch)
            self.ip(host, "link", "add", f"eth{number}", "type", "veth", *peer)
            self.port(host, number, "master", bridge, "up")
            self.ip(host, "address", "add", f"10.78.{number}.{host + 1}/24", "dev", f"eth{number}")
            self.ip(host, "link", "set", f"eth{number}", "up")
        for namespace in self.namespaces:
            _until_up(namespace, f"eth{number}")

    def close(self) -> None:
        for namespace in [*self.namespaces, self._switch]:
            _remove(namespace)
        for process in self._started:
            with process:  # closes its pipes and reaps it
                process.kill()

    def _build(self) -> None:
        _ip("netns", "add", self._switch)
        _ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", self._switch, "link", "set", "bridge", "up")
        known = "".join(f"{a} {n}\n" for a, n in zip(self.addresses, self.names, strict=True))
        for host, namespace in enumerate(self.namespaces):
            folder = Path("/etc/netns", namespace)  # ip netns exec mounts its files over those in /etc
            folder.mkdir(parents=True)
            (folder / "hosts").write_text(f"127.0.0.1 localhost\n::1 localhost\n{known}")
            (folder / "hostname").write_text(f"{self.names[host]}\n")
            self._plug_in(host, namespace)
        for namespace in self.namespaces:
            _until_up(namespace, "eth0")

    def _plug_in(self, host: int, namespace: str) -> None:
        _ip("netns", "add", namespace)
        _ip("-n", namespace, "link", "set", "lo", "up")
        port = ("name", f"port{host}", "netns", self._switch)
        _ip("-n", namespace, "link", "add", "eth0", "type", "veth", "peer", *port)
        _ip("-n", self._switch, "link", "set", f"port{host}", "master", "bridge", "up")
        _ip("-n", namespace, "address", "add", f"{self.addresses[host]}/24", "dev", "eth0")
        _ip("-n", namespace, "address", "add", f"fd77::{host + 1}/64", "dev", "eth0", "nodad")
        _ip("-n", namespace, "link", "set", "eth0", "up")


@contextlib.contextmanager
def make_hosts(count: int) -> Iterator[Hosts]:
    """`count` hosts for the time of the block; skips the test, with the reason, where they cannot be made."""
    for program in ("ip", "unshare", "hostname"):
        if shutil.which(program) is None:
            pytest.skip(f"no hosts: {program} is not installed")
    if os.geteuid():
        pytest.skip("no hosts: creating network namespaces needs root")
    _remove_left_behind()
    try:
        hosts = Hosts(count)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no hosts: {' '.join(error.cmd)}: {error.stderr.strip()}")
    try:
        yield hosts
    finally:
        hosts.close()


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=HANGS_AFTER_S).stdout


def _until_up(namespace: str, interface: str) -> None:
    """Wait until it has a carrier, which the kernel finds some time after both ends of the cable are up."""
    deadline = time.monotonic() + HANGS_AFTER_S
    while " state UP " not in (shown := _ip("-n", namespace, "-oneline", "link", "show", interface)):
        assert time.monotonic() < deadline, shown
        time.sleep(0.01)


def _pids(namespace: str) -> list[int]:
    try:
        return [int(pid) for pid in _ip("netns", "pids", namespace).split()]
    except subprocess.CalledProcessError:
        return []


def _remove(namespace: str) -> None:
    deadline = time.monotonic() + HANGS_AFTER_S
    while (pids := _pids(namespace)) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    with contextlib.suppress(subprocess.CalledProcessError):
        _ip("netns", "delete", namespace)
    shutil.rmtree(f"/etc/netns/{namespace}", ignore_errors=True)


def _remove_left_behind() -> None:
    for line in _ip("netns", "list").splitlines():
        name = line.split()[0]
        if name.startswith(f"{PREFIX}-") and not Path("/proc", name.split("-")[2]).exists():
            _remove(name)
