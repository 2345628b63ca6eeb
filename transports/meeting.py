# SPDX-License-Identifier: Apache-2.0
"""How the processes of a job meet: through a store they learn where process 0's hub listens, and each of their ranks
joins it.

    railgauge/hub            where the hub listens (HubPlace as JSON), or {"trouble": why process 0 cannot begin}
    railgauge/process/N      that process N (not 0) is there, and on which host
    railgauge/trouble        why a process cannot join; process 0 then ends the waiting of all
"""

import contextlib
import ipaddress
import json
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from datetime import timedelta

from railgauge.topo.errors import Error, PeerLostError, RunError, UsageError, WaitTimeoutError
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.hub import Hub
from railgauge.transports.interface import Interface, bootstrap_interface, comm_id_port
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.peer import network_id
from railgauge.transports.rank_names import name_ranks
from railgauge.transports.reach import SHAPE, HubPlace, reach
from railgauge.transports.shape import fits, read_json
from railgauge.transports.store.store import Store

HUB, PROCESS, TROUBLE = "railgauge/hub", "railgauge/process/{}", "railgauge/trouble"
BACKLOG = 4096
"""Connections that wait to be accepted; the kernel takes net.core.somaxconn at most."""
MOST_ASKED = 64
"""Of so many processes a message says whether they are there."""
LONGEST_TROUBLE, LONGEST_PLACE = 1000, 4000
KEY_BYTES = 16


class Meeting:
    """One process's part of the meeting; its ranks join from their threads."""

    def __init__(
        self,
        store: Store,
        *,
        process: int,
        processes: int,
        ranks_per_process: int,
        timeout_s: float,
        secret: bytes,
        version: str,
    ) -> None:
        self.host = socket.gethostname()
        self.process = process
        self.processes = processes
        self.world_size = processes * ranks_per_process
        self.timeout_s = timeout_s
        self.deadline = time.monotonic() + timeout_s
        self._store = store
        self._storing = threading.Lock()
        self._secret = secret
        self._version = version
        self._hub: Hub | None = None
        self._members: list[Bootstrap] = []

    def arrange(self, environ: Mapping[str, str], log: NcclLog) -> None:
        """Choose the interface; run the hub there, or find it. Errors are those of `meet`."""
        try:
            self.interface = bootstrap_interface(environ)
            log.info("INIT", f"Bootstrap: Using {self.interface}", also="BOOTSTRAP")
            log.info("INIT", f"Bootstrap: {self.interface.name} is taken: {self.interface.reason}", also="BOOTSTRAP")
            self.place = self._run_hub(comm_id_port(environ)) if self.process == 0 else self._find_hub()
        except Error as error:
            self._tell_trouble(f"process {self.process} on {self.host}: {error}")
            raise

    def join(self, rank: int) -> Bootstrap:
        """Join as one of this process's ranks, and wait for all others.

        Raises:
            PeerLostError, WaitTimeoutError: the hub cannot be reached, or not everybody came within the timeout.
            UsageError: the hub refuses this rank: its number is taken, another world size, version or job secret.
            RunError: another process cannot join.
        """
        secret = self.place.secret(self._secret)
        try:
            sock = reach(self.place, self.interface.name, secret, timeout_s=self.timeout_s, deadline=self.deadline)
        except Error as error:
            error.args = (f"rank {rank} on {self.host}: {error}",)
            self._tell_trouble(str(error))
            raise
        member = Bootstrap(rank, self.world_size, sock, self.timeout_s)
        with contextlib.ExitStack() as undo:
            undo.callback(sock.close)
            look_around = self._look_for_trouble if rank == 0 else None
            member.join(self._version, self.host, secret, deadline=self.deadline, look_around=look_around)
            undo.pop_all()
        self._members.append(member)
        return member

    def fail(self, reason: str) -> None:
        """End the run on all ranks, whether they have joined or not."""
        for member in self._members:
            member.fail(reason)
        if not self._members:
            self._tell_trouble(f"process {self.process} on {self.host}: {reason}")

    def close(self) -> None:
        """Process 0 stays until all ranks have left, or the timeout has passed."""
        if self._hub:
            self._hub.finish()

    def _run_hub(self, port: int) -> HubPlace:
        listener = _listen(self.interface, port)
        place = HubPlace(
            address=self.interface.address,
            port=listener.getsockname()[1],
            interface=self.interface.name,
            host=self.host,
            network=network_id(),
            key=secrets.token_hex(KEY_BYTES),
        )
        told = json.dumps(place.to_dict()).encode()
        if (there := self._store.compare_set(HUB, "", told)) != told:
            listener.close()
            raise UsageError(
                f"process 0 has come already, {_whereabouts(there)}: were two processes given RANK=0, "
                f"or does an earlier run still use this store?"
            )
        self._hub = Hub(listener, self.world_size, self.timeout_s, self._version, place.secret(self._secret))
        self._hub.start()
        return place

    def _find_hub(self) -> HubPlace:
        self._store.set(PROCESS.format(self.process), self.host)
        try:
            self._store.wait([HUB], timedelta(seconds=max(0.001, self.deadline - time.monotonic())))
        except WaitTimeoutError:
            raise PeerLostError(
                f"waited {self.timeout_s:g} s for process 0 of {self.processes}, which has not come; "
                f"{self._who_is_here()}",
                0,
            ) from None
        place = _read_place(self._store.get(HUB))
        if place.is_loopback and place.network != network_id():
            raise UsageError(
                f"rank 0 listens at {place}, where no other host can reach it: "
                f"set NCCL_SOCKET_IFNAME on {place.host} to an interface that others reach"
            )
        return place

    def _who_is_here(self) -> str:
        asked = range(1, min(self.processes, MOST_ASKED))
        here = [number for number in asked if self._store.check([PROCESS.format(number)])]
        hosts = sorted({_printable(self._store.get(PROCESS.format(number))) for number in here})
        return f"here are {name_ranks(here, 'process', 'processes')}, on {', '.join(hosts)}"

    def _tell_trouble(self, problem: str) -> None:
        """Tell those who wait; a store that fails too is no second problem."""
        with self._storing, contextlib.suppress(Error, OSError):
            if self.process == 0:
                self._store.compare_set(HUB, "", json.dumps({"trouble": problem}))
            else:
                self._store.set(TROUBLE, problem)

    def _look_for_trouble(self) -> None:
        """End the waiting of all when a process tells that it cannot join."""
        with self._storing, contextlib.suppress(Error, OSError):
            if self._hub and self._store.check([TROUBLE]):
                self._hub.end(_printable(self._store.get(TROUBLE)))


def meet(
    store: Store,
    *,
    process: int,
    processes: int,
    ranks_per_process: int,
    timeout_s: float,
    secret: bytes,
    version: str,
    environ: Mapping[str, str],
) -> Meeting:
    """Meet the other processes of the job through a store that all of them have. Each calls it once.

    Process 0 starts the hub, on the interface that NCCL's bootstrap would use, and the others wait until it has; the
    interface and the reason are logged (NCCL_DEBUG=INFO). All of it, ranks joining included, has `timeout_s`.

    Raises:
        PeerLostError: process 0 does not come.
        UnavailableError: no interface is left to use. UsageError: a setting is wrong, or process 0 came twice.
        RunError: process 0 cannot begin.
    """
    meeting = Meeting(
        store,
        process=process,
        processes=processes,
        ranks_per_process=ranks_per_process,
        timeout_s=timeout_s,
        secret=secret,
        version=version,
    )
    meeting.arrange(environ, NcclLog(process * ranks_per_process, environ))
    return meeting


def _listen(interface: Interface, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(interface.address, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        raise UsageError(
            f"rank 0 cannot listen on {interface.name}, {interface.address} port {port}: {error.strerror}: "
            f"does another run use it? NCCL_COMM_ID names the port, NCCL_SOCKET_IFNAME the interface"
        ) from None


def _read_place(text: bytes) -> HubPlace:
    """What process 0 told. RunError: it cannot begin, or it is no address."""
    try:
        value = read_json(text[:LONGEST_PLACE], dict)
        if fits(value, {"trouble": str}):
            raise RunError(_printable(value["trouble"].encode()))
        if fits(value, SHAPE):
            ipaddress.ip_address(value["address"])
            return HubPlace(**value)
    except ValueError:
        pass
    raise RunError(f"the store holds no address at {HUB}: does another program use it?")


def _whereabouts(told: bytes) -> str:
    try:
        return f"at {_read_place(told)}"
    except RunError as error:
        return f"and failed ({error})"


def _printable(text: bytes) -> str:
    readable = text[:LONGEST_TROUBLE].decode(errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in readable)
