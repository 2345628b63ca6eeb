# SPDX-License-Identifier: Apache-2.0
"""The interface of every launcher.

A launcher is a module of this folder with two functions: `commands(launch)`, the exact commands that start the job
(what --dry-run prints: one, or one for each host), and `start(launch)`, which runs them, waits, and leaves nothing.
The job secret is in the environment of what is started (RAILGAUGE_SECRET), and never in a command.
"""

import contextlib
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Protocol, cast

from railgauge.collectives.launch.place import HAND_SET, without_place
from railgauge.collectives.launch.relay import Relay
from railgauge.collectives.launch.tether import COMMAND
from railgauge.topo.errors import INTERNAL, UnavailableError, UsageError
from railgauge.transports.secret import VARIABLE as SECRET
from railgauge.transports.secret import job_secret, new_secret

if TYPE_CHECKING:
    from railgauge.collectives.launch.hostfile import Host

NAMES = ("local", "mpirun", "srun", "torchrun", "ssh")
HANDED_DOWN = ("NCCL_", "GLOO_SOCKET_IFNAME")
"""Settings that must be the same for all ranks: names, or prefixes."""
OWN_STATUSES = frozenset({0, 2, 3, 4, 5, INTERNAL, 130, 141})
WORSE = 1
"""The status of a run that is slower than --compare allows or than its forecast, and of links with findings; the output
is already printed."""
OF_TORCHRUN = "--no-python"
"""An option of torchrun's command lines: its status is 1 for every failure, a killed rank's too."""
MAY_END_WORSE = frozenset({"--compare", "--fail-on", "link"})
"""Words with which 1 is taken for railgauge's own there as well."""
GRACE_S = 5.0
"""How long a launcher may take to end its ranks before it is killed, in seconds."""
BY_ENVIRONMENT = (SECRET, COMMAND)
"""Variables that ranks get through the environment only, never in a command line."""
LAST_WORDS_S, MOST_KEPT = 1.0, 65536
"""How long a launcher's stderr is read once it has ended, in seconds, and how many bytes of it are kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """The request. Times in seconds."""

    argv: list[str]
    """railgauge's own arguments, for each process: `run all_reduce -b 8 ...`."""
    processes: int
    hosts: "list[Host]" = field(default_factory=list)
    """The hosts and the number of processes on each; none: this host."""
    variables: list[str] = field(default_factory=list)
    """-x: NAME, or NAME=VALUE."""
    timeout_s: float = 60.0
    init_method: str | None = None
    """The ranks' rendezvous, if the user sets it; it is in `argv` too."""
    command: list[str] = field(default_factory=list)
    """The arguments as the user typed them, for the run's document."""
    modules: tuple[str, ...] = ()
    """What every process imports; a launcher that forks them imports it once."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the ranks ended: the status for the shell, and messages about ranks that did not end by themselves."""

    status: int
    message: str | None
    reported: bool
    """Rank 0 has printed the result."""


class Launcher(Protocol):
    """A module of this folder that starts ranks."""

    def commands(self, launch: Launch) -> list[list[str]]:
        """The commands that start the job, without secrets."""
        ...

    def start(self, launch: Launch) -> Ended:
        """Run the job and wait for it; none of its processes is left when this returns or raises."""
        ...


def launcher(name: str) -> Launcher:
    """The launcher by name.

    Raises:
        UsageError: there is none.
    """
    if name not in NAMES:
        raise UsageError(f"--launcher {name}: unknown; launchers are {', '.join(NAMES)}")
    return cast(Launcher, importlib.import_module(f"railgauge.collectives.launch.{name}"))


def rank_command(launch: Launch) -> list[str]:
    """The command of each process: this installation's railgauge, which every host must have at the same path."""
    return [sys.executable, "-P", "-m", "railgauge", *launch.argv]  # -P: not from the current folder


def placeless_command(launch: Launch) -> list[str]:
    """The same for a launcher whose ranks read their rank from its own variables: a host's environment, or the shell
    that a shown command is pasted into, may have variables that take precedence.
    """
    return ["env", *(word for name in HAND_SET for word in ("-u", name)), *rank_command(launch)]


def program(name: str) -> str:
    """The full path of a launcher's program.

    Raises:
        UnavailableError: it is not installed.
    """
    path = shutil.which(name)
    if path is None:
        raise UnavailableError(f"{name} is not on PATH: install it, load its module, or use another --launcher")
    return path


def variables_of(launch: Launch, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables for the ranks: NCCL's settings as they are here, and those of -x, with their values.

    Raises:
        UsageError: -x names a variable that is not set here, an invalid name, or the secret with its value.
    """
    env = os.environ if environ is None else environ
    handed = {name: value for name, value in env.items() if name.startswith(HANDED_DOWN)}
    for text in launch.variables:
        name, given, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise UsageError(f"-x {text}: not a variable; expected NAME or NAME=VALUE")
        if name == SECRET and given:
            raise UsageError(f"-x {SECRET}=...: other users of the host can read command lines; export it instead")
        if not given and name not in env:
            raise UsageError(f"-x {name}: {name} is not set here; -x {name}=VALUE sets it")
        handed[name] = value if given else env[name]
    for name in BY_ENVIRONMENT:
        handed.pop(name, None)
    return handed


def environment(launch: Launch) -> dict[str, str]:
    """The ranks' environment: this one without this process's own place in a job, with a job secret (the one that is
    set or a new one), and with the command line for the document.
    """
    secret = os.fsdecode(job_secret(os.environ)) or new_secret()
    return without_place(os.environ) | {SECRET: secret, COMMAND: json.dumps(launch.command)}


def run_command(command: list[str], environ: Mapping[str, str], hosts: "Sequence[Host]" = ()) -> Ended:
    """Run a launcher's program in a process group of its own, forward its output, and make sure that it ends.

    Signals that end this process end that group: a terminal's Ctrl-C reaches it through here, once. Where `hosts` are
    given, its stderr is forwarded too, to find the line that names the host that failed.
    """
    words = _LastWords()
    with exit_on_signals(), _started(command, environ, words if hosts else None) as process:
        printed = _pass_on(process)
        status = process.wait()
    if is_own(status, command, printed=printed):  # launchers exit with the status of a rank that failed
        return Ended(status, None, printed)
    about = _about_a_host(words.said.decode(errors="replace"), hosts) or "see its output above"
    return Ended(4, f"{os.path.basename(command[0])} ended with status {status}: {about}", printed)


def is_own(status: int | None, words: Sequence[str] = (), *, printed: bool) -> bool:
    """Whether a status is railgauge's, and not its launcher's or a signal's; `words` is the launcher's command line."""
    may_be_worse = OF_TORCHRUN not in words or not MAY_END_WORSE.isdisjoint(words)
    return status in OWN_STATUSES or (status == WORSE and printed and may_be_worse)


@contextlib.contextmanager
def _started(
    command: list[str], environ: Mapping[str, str], words: "_LastWords | None"
) -> Iterator["subprocess.Popen[bytes]"]:
    """The program's process, for the time of the block; its group ends with it. `words` reads its stderr."""
    process: subprocess.Popen[bytes] | None = None
    try:
        with signals_held():
            process = subprocess.Popen(
                command,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if words else None,
                start_new_session=True,
            )
        if words and process.stderr:
            words.listen(process.stderr)
        yield process
    finally:
        if process:
            end_group(process)
        if words:
            words.end()


def _pass_on(process: "subprocess.Popen[bytes]") -> bool:
    """Copy its stdout to ours until it ends; returns whether there was any."""
    assert process.stdout is not None
    some, relay = False, Relay()
    with process.stdout as pipe:
        while chunk := os.read(pipe.fileno(), 65536):
            some = True
            relay.pass_on(chunk, sys.stdout)
    return some


class _LastWords:
    """Copies a launcher's stderr to ours, and keeps its last part: `said`."""

    def __init__(self) -> None:
        self.said = b""
        self._thread: threading.Thread | None = None

    def listen(self, pipe: IO[bytes]) -> None:
        """Copy, in a thread, until nobody can write to the pipe any more."""
        self._thread = threading.Thread(target=self._copy, args=(pipe,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Wait for the rest, once the launcher has ended; what it left running may hold the pipe open."""
        if self._thread:
            self._thread.join(LAST_WORDS_S)

    def _copy(self, pipe: IO[bytes]) -> None:
        relay = Relay()
        with pipe, contextlib.suppress(OSError):
            while chunk := os.read(pipe.fileno(), 65536):
                self.said = (self.said + chunk)[-MOST_KEPT:]
                relay.pass_on(chunk, sys.stderr)


def _about_a_host(said: str, hosts: "Sequence[Host]") -> str | None:
    """The line that names a host that failed: ssh's own, else the last one with a host's name in it."""
    names = "|".join(re.escape(name) for host in hosts for name in (host.address, *host.aliases))
    named = re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])") if names else None
    lines = [line.strip() for line in said.splitlines() if named and named.search(line)]
    return next((line for line in lines if line.startswith("ssh: ")), lines[-1] if lines else None)


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its group: SIGTERM, SIGKILL if it does not end, then kill what is left."""
    try:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
    finally:  # also when a second Ctrl-C ends the wait
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def exit_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit, so that the ranks are ended on the way out.

    Python drops what is raised within callbacks, such as those around a fork: the block goes on to its own end then,
    and the signal still decides how it ends.
    """
    came: list[int] = []

    def leave(number: int, _frame: object) -> None:
        came.append(number)
        raise SystemExit(128 + number)

    try:
        with _handled((signal.SIGTERM, signal.SIGHUP), leave):
            yield
    finally:
        if came:
            raise SystemExit(128 + came[-1])


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Delay signals that end this process to the end of the block, when what it starts is known."""
    came: list[int] = []
    try:
        with _handled((signal.SIGTERM, signal.SIGHUP, signal.SIGINT), lambda number, _frame: came.append(number)):
            yield
    finally:
        for number in came:
            signal.raise_signal(number)


@contextlib.contextmanager
def _handled(numbers: Sequence[int], handler: Callable[[int, object], None]) -> Iterator[None]:
    """Handle the signals so within the block, except those that are ignored (nohup)."""
    heeded = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heeded}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
