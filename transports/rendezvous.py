# SPDX-License-Identifier: Apache-2.0
"""Rendezvous of a job's processes: through a store they learn where process 0's hub listens, and each of their ranks
joins it.

    railgauge/hub            where the hub listens (HubPlace as JSON), or {"trouble": why process 0 cannot start}
    railgauge/process/N      process N (not 0) has arrived, and on which host
    railgauge/trouble        why a process cannot join; process 0 then ends the waiting of all
"""

import contextlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from railgauge.topo.errors import Error, PeerLostError, RunError, UsageError, WaitTimeoutError, described
from railgauge.topo.values.printable import one_line
from railgauge.transports import tcp
from railgauge.transports.bootstrap import Bootstrap
from railgauge.transports.hub import Hub
from railgauge.transports.hub_place import HubPlace, read_place
from railgauge.transports.interface import bootstrap_interface, comm_id_port
from railgauge.transports.nccl_log import NcclLog
from railgauge.transports.peer import network_id
from railgauge.transports.rank_names import name_ranks
from railgauge.transports.reach import reach
from railgauge.transports.standing import Standing
from railgauge.transports.store.store import Store

HUB, PROCESS, TROUBLE = "railgauge/hub", "railgauge/process/{}", "railgauge/trouble"
MOST_ASKED = 64
"""How many processes a message lists."""
LONGEST_TROUBLE = 1000
KEY_BYTES = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """One process's part of a job; every process has the same number of ranks."""

    process: int
    processes: int
    ranks_per_process: int

    @property
    def world_size(self) -> int:
        """The ranks of all processes."""
        return self.processes * self.ranks_per_process

    @property
    def ranks(self) -> range:
        """This process's."""
        return range(self.process * self.ranks_per_process, (self.process + 1) * self.ranks_per_process)


class Rendezvous:
    """One process's part of the rendezvous; its ranks join from their threads."""

    def __init__(self, store: Store, share: Share, *, timeout_s: float, secret: bytes, version: str) -> None:
        self.host = one_line(socket.gethostname())
        self.process = share.process
        self.processes = share.processes
        self.world_size = share.world_size
        self._ranks = share.ranks
        self.timeout_s = timeout_s
        self.deadline = time.monotonic() + timeout_s
        self._store = store
        self._storing = threading.Lock()
        self._secret = secret
        self._version = version
        self._hub: Hub | None = None
        self._members: list[Bootstrap] = []
        self._over = False

    def arrange(self, environ: Mapping[str, str], log: NcclLog) -> None:
        """Choose the interface; run the hub there, or find it. Errors are those of `meet`."""
        try:
            self.interface = bootstrap_interface(environ)
            log.info("INIT", f"Bootstrap: Using {self.interface}", also="BOOTSTRAP")
            log.info("INIT", f"Bootstrap: using {self.interface.name}: {self.interface.reason}", also="BOOTSTRAP")
            self.place = self._run_hub(comm_id_port(environ)) if self.process == 0 else self._find_hub()
        except BaseException as error:
            self._tell_trouble(described(error))
            raise

    def join(self, rank: int) -> Bootstrap:
        """Join as one of this process's ranks, and wait for all others.

        Raises:
            PeerLostError, WaitTimeoutError: the hub cannot be reached, or some ranks did not join within the timeout.
            UsageError: the hub refuses this rank: another world size, version or job secret.
            MismatchError: two processes came as one rank. RunError: another process cannot join.
        """
        secret = self.place.secret(self._secret)
        try:
            sock = reach(self.place, self.interface.name, secret, timeout_s=self.timeout_s, deadline=self.deadline)
        except Error as error:
            self._tell_trouble(str(error))
            raise
        member = Bootstrap(rank, self.world_size, sock, self.timeout_s, lambda: self._hub.error if self._hub else None)
        with contextlib.ExitStack() as undo:
            undo.callback(sock.close)
            look_around = self._look_for_trouble if rank == 0 else None
            try:
                member.join(self._version, self.host, secret, deadline=self.deadline, look_around=look_around)
            except BaseException as error:
                if not isinstance(error, Error):  # Ctrl-C
                    member.fail(described(error))
                self._over = True  # the hub reports it to the others, or is gone
                raise
            undo.pop_all()
        self._members.append(member)
        return member

    def fail(self, reason: str) -> None:
        """End the run on all ranks, whether they have joined or not; the reason is reported once."""
        for member in self._members:
            if not member.has_left:
                member.fail(reason)
        if not self._members and not self._over:
            self._tell_trouble(reason)

    @property
    def standings(self) -> dict[int, list[Standing]]:
        """The state of each rank that could be reached when the run failed; known to process 0 only, else empty."""
        return self._hub.standings if self._hub else {}

    def close(self) -> None:
        """Process 0 stays until all ranks have left, or the timeout has passed.

        When not all ranks of this process have left, nobody waits: the run ends.
        """
        if sum(member.has_left for member in self._members) < len(self._ranks):
            self.fail("it ended before it had left")
        if self._hub:
            self._hub.finish()

    def _run_hub(self, port: int) -> HubPlace:
        listener = self._listen(port)
        place = HubPlace(
            address=self.interface.address,
            port=listener.getsockname()[1],
            interface=self.interface.name,
            host=self.host,
            network=network_id(),
            key=secrets.token_hex(KEY_BYTES),
            reason=self.interface.reason,
        )
        secret, refused = place.secret(self._secret), self._store.refused
        is_open = not self._secret
        hub = Hub(listener, self.world_size, self.timeout_s, self._version, secret, refused, is_open=is_open)
        with contextlib.ExitStack() as undo:
            undo.callback(listener.close)
            hub.start()
            undo.callback(hub.stop)
            told = json.dumps(place.to_dict()).encode()
            if (there := self._store.compare_set(HUB, "", told)) != told:
                raise self._second(there)
            undo.pop_all()
        self._hub = hub
        return place

    def _second(self, there: bytes) -> Error:
        """The error of a process 0 that is not the first. Without a secret the others cannot tell whose they are: the
        first one's hub ends them all.
        """
        if not self._secret:
            try:
                self.place = read_place(there, HUB)
                self.join(self._ranks[0])
            except PeerLostError:
                pass  # an earlier run's, whose hub is gone
            except Error as error:
                return error
        return UsageError(
            f"process 0 has already arrived, {_whereabouts(there)}: were two processes given RANK=0, "
            f"or does an earlier run still use this store?"
        )

    def _listen(self, port: int) -> socket.socket:
        name, address = self.interface.name, self.interface.address
        try:
            return tcp.listen(address, port)
        except OSError as error:
            raise UsageError(
                f"rank 0 cannot listen on {name}, {address} port {port}: {error.strerror}: "
                f"does another run use this port? NCCL_COMM_ID sets the port, NCCL_SOCKET_IFNAME the interface"
            ) from None

    def _find_hub(self) -> HubPlace:
        self._store.set(PROCESS.format(self.process), self.host)
        try:
            self._store.wait([HUB], timedelta(seconds=max(0.001, self.deadline - time.monotonic())))
        except WaitTimeoutError:
            raise PeerLostError(
                f"waited {self.timeout_s:g} s for process 0 of {self.processes}, which has not arrived; "
                f"{self._who_is_here()}",
                0,
            ) from None
        place = read_place(self._store.get(HUB), HUB)
        if place.is_loopback and place.network != network_id():
            raise UsageError(
                f"rank 0 listens at {place}, where no other host can reach it "
                f"(it uses {place.interface}: {place.reason}): "
                f"set NCCL_SOCKET_IFNAME on {place.host} to an interface that others reach"
            )
        return place

    def _who_is_here(self) -> str:
        asked = range(1, min(self.processes, MOST_ASKED))
        here = [number for number in asked if self._store.check([PROCESS.format(number)])]
        hosts = sorted({_text(self._store.get(PROCESS.format(number))) for number in here})
        be = "is" if len(here) == 1 else "are"
        return f"here {be} {name_ranks(here, 'process', 'processes')}, on {', '.join(hosts)}"

    def _tell_trouble(self, problem: str) -> None:
        """Report it to the waiting processes; ignore a store that fails too."""
        self._over = True
        problem = f"{name_ranks(self._ranks)} on {self.host}: {problem}"
        if self._hub:
            self._hub.end(problem)
            return
        with self._storing, contextlib.suppress(Error, OSError):
            if self.process == 0:
                self._store.compare_set(HUB, "", json.dumps({"trouble": problem}))
            else:
                self._store.set(TROUBLE, problem)

    def _look_for_trouble(self) -> None:
        """End all waits when a process reports that it cannot join."""
        with self._storing, contextlib.suppress(Error, OSError):
            if self._hub and self._store.check([TROUBLE]):
                self._hub.end(_text(self._store.get(TROUBLE)))


def meet(
    store: Store, share: Share, *, timeout_s: float, secret: bytes, version: str, environ: Mapping[str, str]
) -> Rendezvous:
    """Rendezvous with the other processes of the job through a store that all of them have. Each calls it once.

    Process 0 starts the hub, on the interface that NCCL's bootstrap would use, and the others wait until it has; the
    interface and the reason are logged (NCCL_DEBUG=INFO). `timeout_s` limits all of it, joining included.

    Raises:
        PeerLostError: process 0 does not arrive.
        UnavailableError: no interface can be used. UsageError: a setting is invalid, or process 0 arrived twice.
        RunError: process 0 cannot start.
    """
    rendezvous = Rendezvous(store, share, timeout_s=timeout_s, secret=secret, version=version)
    rendezvous.arrange(environ, NcclLog(share.ranks[0], environ))
    return rendezvous


def _whereabouts(told: bytes) -> str:
    try:
        return f"at {read_place(told, HUB)}"
    except RunError as error:
        return f"and failed ({error})"


def _text(value: bytes) -> str:
    return one_line(value[:LONGEST_TROUBLE].decode(errors="replace"))
