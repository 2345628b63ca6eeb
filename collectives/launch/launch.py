# SPDX-License-Identifier: Apache-2.0
"""What every launcher is asked for and gives.

A launcher is a module of this folder with two functions: `commands(launch)`, the exact commands that start the job
(what --dry-run prints: one, or one for each host), and `start(launch)`, which runs them, waits, and leaves nothing.
The job secret is in the environment of what is started (RAILGAUGE_SECRET), and never in a command.
"""

import contextlib
import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.transports.secret import VARIABLE as SECRET
from railgauge.transports.secret import job_secret, new_secret

if TYPE_CHECKING:
    from railgauge.collectives.launch.hostfile import Host

NAMES = ("local", "mpirun", "srun", "torchrun", "ssh")
HANDED_DOWN = ("NCCL_", "GLOO_SOCKET_IFNAME")
"""Settings that have to be the same for all ranks: names, or how they begin."""
OWN_STATUSES = frozenset({0, 2, 3, 4, 5, 130, 141})
GRACE_S = 5.0
"""How long a launcher has to take its ranks down before it is killed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """What was asked for. Times in seconds."""

    argv: list[str]
    """railgauge's own arguments, for each process: `run all_reduce -b 8 ...`."""
    processes: int
    hosts: "list[Host]" = field(default_factory=list)
    """Where, and how many on each; none: this host."""
    variables: list[str] = field(default_factory=list)
    """-x: NAME, or NAME=VALUE."""
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How the ranks ended: the status for the shell, and what to say about ranks that did not end by themselves."""

    status: int
    message: str | None
    reported: bool
    """Rank 0 has printed the result."""


class Launcher(Protocol):
    """A module of this folder that starts ranks."""

    def commands(self, launch: Launch) -> list[list[str]]:
        """The commands that start the job, and nothing secret."""
        ...

    def start(self, launch: Launch) -> Ended:
        """Run the job and wait for it; none of its processes is left when this returns or raises."""
        ...


def launcher(name: str) -> Launcher:
    """The launcher of that name.

    Raises:
        UsageError: there is none.
    """
    if name not in NAMES:
        raise UsageError(f"--launcher {name}: there are {', '.join(NAMES)}")
    return cast(Launcher, importlib.import_module(f"railgauge.collectives.launch.{name}"))


def rank_command(launch: Launch) -> list[str]:
    """What each process of the job is: this installation's railgauge, which a host has to have under the same path."""
    return [sys.executable, "-P", "-m", "railgauge", *launch.argv]  # -P: not from the current folder


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
    """What ranks get by name: NCCL's settings as they are here, and those of -x, with their values.

    Raises:
        UsageError: -x names a variable that is not set here, one that cannot be a name, or the secret with its value.
    """
    env = os.environ if environ is None else environ
    handed = {name: value for name, value in env.items() if name.startswith(HANDED_DOWN)}
    for text in launch.variables:
        name, given, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise UsageError(f"-x {text}: that is no variable; it is NAME or NAME=VALUE")
        if name == SECRET and given:
            raise UsageError(f"-x {SECRET}=...: others on the host can read command lines; export it instead")
        if not given and name not in env:
            raise UsageError(f"-x {name}: {name} is not set here; -x {name}=VALUE sets it")
        handed[name] = value if given else env[name]
    handed.pop(SECRET, None)
    return handed


def environment_with_secret() -> dict[str, str]:
    """This environment with a job secret in it: the one that is set, or a new one."""
    return os.environ | {SECRET: os.fsdecode(job_secret(os.environ)) or new_secret()}


def run_command(command: list[str]) -> Ended:
    """Run a launcher's program in a process group of its own, pass on what it prints, and see to it that it ends.

    Signals that end this process end that group: a terminal's Ctrl-C reaches it through here, once.
    """
    process = subprocess.Popen(
        command,
        env=environment_with_secret(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        with exit_on_signals():
            reported = _pass_on(process)
            status = process.wait()
    finally:
        end_group(process)
    return _ended(os.path.basename(command[0]), status, reported=reported)


def _pass_on(process: "subprocess.Popen[bytes]") -> bool:
    """Copy its stdout to ours, until it has no more; whether there was any."""
    assert process.stdout is not None
    some = False
    with process.stdout as pipe:
        while chunk := os.read(pipe.fileno(), 65536):
            some = True
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
    return some


def _ended(name: str, status: int, *, reported: bool) -> Ended:
    """Launchers pass on the status of a rank that failed; what is none of railgauge's is their own, or a signal's."""
    if status in OWN_STATUSES:
        return Ended(status, None, reported)
    return Ended(4, f"{name} ended with status {status}: its own words are above", reported)


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its group: ask it (SIGTERM), kill it when it does not follow, then kill what is left."""
    for number, within_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(within_s)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def exit_on_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit, so that the ranks are taken down on the way out."""

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
