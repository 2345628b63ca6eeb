# SPDX-License-Identifier: Apache-2.0
"""The ssh launcher: one ssh to each host starts that host's processes (ssh_host.py), which end when their ssh does.

It needs only ssh without a password and the same railgauge at the same path. The rendezvous is at MASTER_ADDR and
MASTER_PORT: the first host, as the hostfile names it, and a port that the caller sets or that is drawn at random.
"""

import os
import random
import sys

from railgauge.collectives.launch.hostfile import Host
from railgauge.collectives.launch.launch import (
    Ended,
    Launch,
    environment,
    exit_on_signals,
    is_own,
    variables_of,
)
from railgauge.collectives.launch.preflight import check
from railgauge.collectives.launch.processes import grace_s
from railgauge.collectives.launch.relay import Relay
from railgauge.collectives.launch.remote import (
    MOST_STDERR,
    SSH_FAILED,
    Conversation,
    Listener,
    converse,
    ssh_command,
    ssh_reason,
)
from railgauge.collectives.launch.ssh_host import STARTED
from railgauge.collectives.launch.tether import COMMAND
from railgauge.topo.errors import UsageError
from railgauge.transports.secret import VARIABLE as SECRET

PORTS = range(20000, 32000)
"""Where MASTER_PORT is drawn from: below the ports that Linux gives to clients (32768)."""
THIS_HOST = ("localhost", "127.0.0.1", "::1")
ON_THE_WAY_S = 1.0
"""How much longer than on its host (processes.grace_s) a failed rank is waited for here."""


def commands(launch: Launch) -> list[list[str]]:
    """One ssh for each host; on its stdin it gets what ssh_host.py reads there.

    Raises:
        UsageError: there are no hosts, or others cannot reach the first by its name.
    """
    return list(_commands(launch).values())


def start(launch: Launch) -> Ended:
    """Check the hosts, run the job on them, forward its output, and leave no process on any of them.

    Raises:
        UsageError: as `commands`.
        UnavailableError: a host cannot be logged in to, or lacks something (preflight.py).
    """
    commands_by_host = _commands(launch)
    exported = environment(launch)
    relay = _Hosts(list(commands_by_host), launch.timeout_s + ON_THE_WAY_S)
    with exit_on_signals():
        check(launch, _rendezvous_at(launch.hosts))
        converse(
            commands_by_host,
            relay,
            timeout_s=None,
            fanout=len(commands_by_host),
            stdin=os.fsencode(f"{exported[SECRET]}\n{exported[COMMAND]}\n"),
            hold_stdin=True,
            grace_s=grace_s(launch.timeout_s) + ON_THE_WAY_S,
        )
    return relay.verdict()


def _check_hosts(hosts: list[Host]) -> None:
    if not hosts:
        raise UsageError("--launcher ssh needs hosts: use --hostfile FILE or --hosts gpu-01:4,gpu-02:4")
    if len(hosts) > 1 and _rendezvous_at(hosts) in THIS_HOST:
        if given := os.environ.get("MASTER_ADDR"):
            raise UsageError(
                f"MASTER_ADDR={given} is a different host on each: unset it, to meet at {hosts[0].address}, or set it "
                f"to an address of {hosts[0].address} that the others reach"
            )
        raise UsageError(
            f"the rendezvous would be at {_rendezvous_at(hosts)}, which is a different host on each: "
            f"give the first host a name that the others resolve, or set MASTER_ADDR"
        )


def _rendezvous_at(hosts: list[Host]) -> str:
    """The first host, by the name under which the others reach it."""
    return os.environ.get("MASTER_ADDR") or hosts[0].address


def _commands(launch: Launch) -> dict[str, list[str]]:
    """The command line for each host, by what ssh calls the host."""
    hosts = launch.hosts
    _check_hosts(hosts)
    meet = {
        "WORLD_SIZE": str(sum(host.slots for host in hosts)),
        "MASTER_ADDR": _rendezvous_at(hosts),
        "MASTER_PORT": os.environ.get("MASTER_PORT") or str(random.choice(PORTS)),
    }
    found: dict[str, list[str]] = {}
    first = 0
    for host in hosts:
        variables = variables_of(launch) | meet | {"LOCAL_WORLD_SIZE": str(host.slots)}
        command = [
            "env",
            *(f"{name}={value}" for name, value in variables.items()),
            *(sys.executable, "-P", "-m", "railgauge.collectives.launch.ssh_host"),
            *(str(first), f"{grace_s(launch.timeout_s):g}", os.getcwd(), ",".join(launch.modules)),
            *launch.argv,
        ]
        found[host.destination] = ssh_command(host.destination, command, launch.timeout_s)
        first += host.slots
    return found


class _Hosts(Listener):
    """Forwards the hosts' output, and records how each ended."""

    def __init__(self, nodes: list[str], start_within_s: float) -> None:
        super().__init__()
        self._not_started = set(nodes)
        self._start_within_s = start_within_s
        self._hung: set[str] = set()
        self._reported = False
        self._stdout: dict[str, Relay] = {}
        self._started_line: dict[str, bytes] = {}
        self._statuses: dict[str, int | None] = {}
        self._reasons: dict[str, str] = {}

    def began(self, line: Conversation) -> None:
        self._line = line
        line.call(self._start_within_s, self._give_up_waiting)

    def _give_up_waiting(self) -> None:
        """Disconnect the hosts that have not reported starting their ranks: they would never end."""
        for node in sorted(self._not_started - self._statuses.keys()):
            self._hung.add(node)
            self._statuses[node] = None
            self._line.cut_off(node)

    def output(self, node: str, stream: str, data: bytes) -> bool:
        if stream == "stdout":
            self._reported = True
            self._stdout.setdefault(node, Relay()).pass_on(data, sys.stdout)
        else:
            lines, newline, rest = (self._started_line.get(node, b"") + data).rpartition(b"\n")
            if len(rest) > MOST_STDERR:
                lines, newline, rest = lines + newline + rest, b"", b""
            self._started_line[node] = rest
            if node in self._not_started and STARTED in (said := lines + newline):
                self._not_started.remove(node)
                lines, newline = said.replace(STARTED, b"", 1), b""
            Relay().pass_on(lines + newline, sys.stderr)
            if lines:
                self._reasons[node] = ssh_reason(lines)
        return True

    def ended(self, node: str, status: int | None) -> None:
        Relay().pass_on(self._started_line.pop(node, b""), sys.stderr)
        if node not in self._hung:
            self._statuses[node] = status

    def verdict(self) -> Ended:
        """The job's status: of the hosts that failed, the first that was not only stopped (4)."""
        failed = [self._status(status) for status in self._statuses.values() if status != 0]
        status = next((status for status in failed if status != 4), max(failed, default=0))
        notes = [note for node, ended in self._statuses.items() if (note := self._note(node, ended))]
        return Ended(status, "; ".join(notes) if status == 4 and notes else None, self._reported)

    def _status(self, status: int | None) -> int:
        return status if status is not None and self._is_own(status) else 4

    def _is_own(self, status: int | None) -> bool:
        return is_own(status, printed=self._reported)

    def _note(self, node: str, status: int | None) -> str | None:
        """The message about a host whose processes did not end by themselves."""
        if node in self._hung:
            return (
                f"{node} did not start its ranks within {self._start_within_s:g} s, although its ssh still runs: "
                f"does ssh {node} true end there?"
            )
        if status is None:
            return f"{node} was disconnected because its ranks did not end by themselves"
        if status == SSH_FAILED:
            return f"lost {node} ({self._reasons.get(node, 'ssh gave no reason')})"
        return None if self._is_own(status) else f"lost {node} (its ssh ended with status {status})"
