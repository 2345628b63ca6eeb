# SPDX-License-Identifier: Apache-2.0
"""One command on many hosts, by ssh, through ClusterShell: in parallel, with limits, and bytes stay bytes.

The user's ssh configuration holds. RAILGAUGE_SSH is a command in place of `ssh` (as rsync's RSYNC_RSH is): what it gets
after its own words are ssh's options, the host and the command.
"""

import contextlib
import logging
import math
import os
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ClusterShell.Event import EventHandler
from ClusterShell.Task import task_self
from ClusterShell.Worker.Ssh import SshClient, WorkerSsh

from railgauge.collectives.launch.hostfile import check_destination
from railgauge.collectives.launch.launch import exit_on_signals, program, signals_held
from railgauge.topo.errors import UnavailableError, UsageError

logging.getLogger("ClusterShell").addHandler(logging.NullHandler())  # a closed pipe shows as a failed write

CONNECT_WITHIN_S = 10
SILENT_S, ALIVE_MISSED = 45, 3
"""A connection that is silent for this long, or misses this many answers, counts as lost (ssh_config:
ServerAlive...)."""
SSH_OPTIONS = (
    "-T",  # no terminal: bytes pass as they are
    "-oBatchMode=yes",  # a password is never asked for
    f"-oServerAliveCountMax={ALIVE_MISSED}",
    "-oForwardX11=no",
    "-oForwardAgent=no",
    "-oClearAllForwardings=yes",
)
SSH_FAILED = 255
"""ssh's own status: no connection, no permission, or the connection broke (ssh(1))."""
MOST_OUTPUT = 8 << 20
"""Bytes that one host may send by default; a host that sends more is disconnected."""
MOST_IN_MEMORY = 1 << 20
"""Output beyond this size is kept in a file."""
MOST_STDERR = 64 << 10
"""How many of the last bytes of its stderr are kept."""
MOST_SHOWN = 200
"""How many characters of a host's line a message shows."""
KILL_AFTER_S = 5


@dataclass(frozen=True, slots=True)
class RemoteResult:
    """How a command ended on one host."""

    status: int | None
    """Its exit status; None: the host was not reached, or it took too long."""
    stdout: bytes
    stderr: str
    reason: str | None
    """Why there is no status, in one line."""

    @property
    def last_words(self) -> str:
        """The last line of its stderr, shortened for a message; empty without output."""
        return last_line(self.stderr)


class _Output:
    """A host's output: its stdout, in a file once it is long, and the end of its stderr."""

    def __init__(self, folder: str | None) -> None:
        self.size = 0
        self.stderr = b""
        self._stdout = tempfile.SpooledTemporaryFile(MOST_IN_MEMORY, dir=folder)  # noqa: SIM115  # `take` closes it

    def append(self, stream: str, data: bytes) -> None:
        """Add output. UnavailableError when there is no space for it here."""
        self.size += len(data)
        if stream == "stderr":
            self.stderr = (self.stderr + data)[-MOST_STDERR:]
            return
        try:
            self._stdout.write(data)
        except OSError as error:
            raise UnavailableError(f"cannot store the hosts' output: {error.strerror}") from None

    def take(self) -> bytes:
        """All of stdout, which is then discarded here."""
        with self._stdout as file:
            file.seek(0)
            return file.read()


class Conversation:
    """Access to the hosts of a `converse`, for its listener."""

    def __init__(self, worker: "_Worker") -> None:
        self._worker = worker

    def tell(self, data: bytes) -> None:
        """Send more to the stdin of all commands that still run."""
        self._worker.write(data)

    def hang_up(self) -> None:
        """End the stdin of all."""
        self._worker.set_write_eof()

    def cut_off(self, node: str) -> None:
        """Kill the connection to a host, whose end is not reported."""
        self._worker.cut_off(node)
        self._worker.end_others()

    def call(self, after_s: float, action: Callable[[], None]) -> None:
        """Call `action` after a delay, unless all have ended by then."""
        self._worker.task.timer(after_s, _Alarm(action), autoclose=True)


class Listener(EventHandler):  # type: ignore[misc]  # ClusterShell has no types
    """Callbacks while commands run, from the thread that waits in `converse`."""

    def began(self, line: Conversation) -> None:
        """All commands are about to start; `line` reaches them."""

    def output(self, node: str, stream: str, data: bytes) -> bool:
        """Take some bytes of a host's `stdout` or `stderr`; False: disconnect that host, whose end is not reported."""
        raise NotImplementedError

    def ended(self, node: str, status: int | None) -> None:
        """The command on a host has ended; None: it was disconnected."""
        raise NotImplementedError

    def ev_read(self, worker: "_Worker", node: str, sname: str, msg: bytes) -> None:
        """ClusterShell's name for `output`."""
        if not self.output(str(node), sname, msg):
            worker.cut_off(str(node))

    def ev_hup(self, worker: "_Worker", node: str, rc: int) -> None:
        """ClusterShell's name for `ended`."""
        self.ended(str(node), rc)
        if rc:
            worker.end_others()


class _Alarm(EventHandler):  # type: ignore[misc]
    """ClusterShell's name for a timer's callback."""

    def __init__(self, action: Callable[[], None]) -> None:
        super().__init__()
        self._action = action

    def ev_timer(self, _timer: object) -> None:
        self._action()


class _Client(SshClient):  # type: ignore[misc]
    """ClusterShell's ssh client with our command line, and output in chunks: lines would cost a capture its bytes."""

    def _build_cmd(self) -> tuple[list[str], None]:
        return self.worker.commands[str(self.key)], None

    def _start(self) -> "_Client":
        """Start it. Python drops what a signal raises around a fork, so signals come when the process is known."""
        try:
            with signals_held():
                super()._start()
        except BaseException:
            if self.popen:
                self._close(abort=True, timeout=False)
            raise
        return self

    def _handle_read(self, sname: str) -> None:
        self._on_nodeset_msgline(self.key, self._read(sname), sname)


class _Worker(WorkerSsh):  # type: ignore[misc]
    SHELL_CLASS = _Client

    def __init__(
        self, commands: Mapping[str, list[str]], listener: Listener, timeout_s: float | None, grace_s: float | None
    ) -> None:
        self.commands = commands
        self._grace_s = grace_s
        super().__init__(None, listener, timeout_s or -1, command="-", stderr=True)

    def _create_clients(self, **options: object) -> None:
        """One for each host. As a NodeSet, thousands of names that form no range would take minutes to fold."""
        for rank, node in enumerate(self.commands):
            self._add_client(node, rank=rank, **options)

    def cut_off(self, node: str) -> None:
        """Kill the connection to a host."""
        for client in self._clients:
            if str(client.key) == node:
                client.abort()

    def end_others(self) -> None:
        """Disconnect, after a delay, the hosts that then still run."""
        if self._grace_s is not None:
            self.task.timer(self._grace_s, self, autoclose=True)
            self._grace_s = None

    def ev_timer(self, _timer: object) -> None:
        """The delay is over."""
        for client in [client for client in self._clients if client.registered]:
            client.abort()
            self.eh.ended(str(client.key), None)

    def _on_node_timeout(self, node: str) -> None:
        super()._on_node_timeout(node)
        self.eh.ended(str(node), None)


def ssh_command(node: str, command: Sequence[str], timeout_s: float) -> list[str]:
    """The command line that runs `command` on a host (`name`, `address` or `user@name`), without a shell of this
    machine.

    The host's shell gets each word of it quoted. A host that does not answer for `timeout_s` is lost; ssh's own limits,
    10 s to connect and 45 s later on, hold where they are shorter.

    Raises:
        UsageError: `node` is not a login; RAILGAUGE_SSH is not a command.
        UnavailableError: there is no ssh.
    """
    ssh = _ssh()
    limits = (
        f"-oConnectTimeout={math.ceil(min(timeout_s, CONNECT_WITHIN_S))}",
        f"-oServerAliveInterval={math.ceil(min(timeout_s, SILENT_S) / ALIVE_MISSED)}",
    )
    return [program(ssh[0]), *ssh[1:], *SSH_OPTIONS, *limits, check_destination(node), shlex.join(command)]


def _ssh() -> list[str]:
    text = os.environ.get("RAILGAUGE_SSH") or "ssh"
    with contextlib.suppress(ValueError):  # a quotation mark is missing
        if words := shlex.split(text):
            return words
    raise UsageError(f"RAILGAUGE_SSH={text[:100]!r} is not a command: expected ssh or a replacement for it")


def converse(
    commands: Mapping[str, list[str]],
    listener: Listener,
    *,
    timeout_s: float | None,
    fanout: int,
    stdin: bytes = b"",
    hold_stdin: bool = False,
    grace_s: float | None = None,
) -> None:
    """Run each host's command (from `ssh_command`) until all have ended; an exception ends the connections, and so do
    SIGTERM and SIGHUP.

    Args:
        commands: by host.
        listener: gets what comes.
        timeout_s: seconds for each host's command from its start; None: no limit.
        fanout: how many at a time.
        stdin: what each gets on its stdin.
        hold_stdin: keep stdin open behind that, so that its end tells the command that this process is gone.
        grace_s: once a command has failed, the others have this long to end by themselves; None: no limit.
    """
    if not commands:
        return
    task = task_self()
    task.set_info("fanout", fanout)
    for stream in ("stdout_msgtree", "stderr_msgtree"):
        task.set_default(stream, False)  # the listener keeps what it wants
    worker = _Worker(commands, listener, timeout_s, grace_s)
    with exit_on_signals():
        task.schedule(worker)
        worker.write(stdin)
        if not hold_stdin:
            worker.set_write_eof()
        listener.began(Conversation(worker))
        task.resume()


def run_on(
    nodes: Sequence[str],
    command: Sequence[str],
    *,
    timeout_s: float,
    fanout: int = 64,
    stdin: bytes | None = None,
    on_done: Callable[[str, RemoteResult], None] | None = None,
    most_output: int | None = None,
    folder: str | None = None,
) -> dict[str, RemoteResult]:
    """Run `command` on each host and gather the results, in the order of `nodes`.

    Args:
        nodes: `name`, `address` or `user@name`; a second mention counts once.
        command: program and arguments, without shell syntax.
        timeout_s: seconds for each, connection included; the host ends the command then too.
        fanout: how many hosts at a time.
        stdin: what each gets; None: nothing.
        on_done: called with each host and its result as they come; it has the only copy of their stdout.
        most_output: bytes that each may send; None: MOST_OUTPUT.
        folder: directory for long output until the host's end; None: the system's directory for temporary files.

    Raises:
        UsageError, UnavailableError: as ssh_command.
    """
    limited = ["timeout", "-k", str(KILL_AFTER_S), str(math.ceil(timeout_s)), *command]
    gathering = _Gathering(timeout_s, on_done, most_output or MOST_OUTPUT, folder)
    commands = {node: ssh_command(node, limited, timeout_s) for node in nodes}
    converse(commands, gathering, timeout_s=timeout_s, fanout=fanout, stdin=stdin or b"")
    return {node: gathering.results[node] for node in commands}


class _Gathering(Listener):
    """Collects each host's output until its end, and makes the result."""

    def __init__(
        self, timeout_s: float, on_done: Callable[[str, RemoteResult], None] | None, most: int, folder: str | None
    ) -> None:
        self.results: dict[str, RemoteResult] = {}
        self._timeout_s = timeout_s
        self._on_done = on_done
        self._most = most
        self._folder = folder
        self._output: dict[str, _Output] = {}

    def output(self, node: str, stream: str, data: bytes) -> bool:
        if node in self.results:
            return False
        kept = self._kept(node)
        kept.append(stream, data)
        if kept.size <= self._most:
            return True
        self._finish(node, None, f"it sent more than {self._most >> 20} MiB")
        return False

    def _kept(self, node: str) -> _Output:
        return self._output.get(node) or self._output.setdefault(node, _Output(self._folder))

    def ended(self, node: str, status: int | None) -> None:
        if node in self.results:
            return  # it was cut off, and ended meanwhile
        if status is None:
            self._finish(node, None, f"not finished within {self._timeout_s:g} s")
        elif status == SSH_FAILED:
            self._finish(node, None, ssh_reason(self._kept(node).stderr))
        else:
            self._finish(node, status, None)

    def _finish(self, node: str, status: int | None, reason: str | None) -> None:
        output = self._kept(node)
        del self._output[node]
        result = RemoteResult(status, output.take(), output.stderr.decode(errors="replace"), reason)
        if self._on_done:
            self._on_done(node, result)
            result = replace(result, stdout=b"")  # captures of a thousand hosts are not kept
        self.results[node] = result


def ssh_reason(stderr: bytes) -> str:
    """Why ssh failed: its last line."""
    line = last_line(stderr[-MOST_STDERR:].decode(errors="replace"))
    return f"ssh: {line.removeprefix('ssh: ')}" if line else "ssh could not connect, and gave no reason"


def last_line(text: str) -> str:
    """The last line that is not blank, as far as a message shows it; empty when there is none."""
    return text.rstrip().rpartition("\n")[2].strip()[:MOST_SHOWN]
