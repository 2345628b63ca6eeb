# SPDX-License-Identifier: Apache-2.0
"""Scenarios that guests run, one after another; each answers in /run/io as NAME.out, NAME.err and NAME.status.

Each is a fork of one process that has loaded everything, what earlier scenarios turned out to need included: to start
Python takes seconds in emulation.
"""

import contextlib
import importlib
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from railgauge.cli.main import main as command_line

IO = Path("/run/io")
LOADED = Path("/tmp/modules")
"""What the last scenario had loaded at its end."""
FIRST_PORT = 29500
WAIT_S = 180
OF_RUNS = (
    "railgauge.cli.run.command",
    "railgauge.cli.run.listing",
    "railgauge.cli.link.command",
    "railgauge.collectives.link.process",
    "railgauge.collectives.process_group",
    "railgauge.collectives.run",
)


def load(*modules: str) -> None:
    """What the scenarios to come need."""
    for module in set(modules) - set(sys.modules):
        with contextlib.suppress(ImportError):  # some are attributes of others
            importlib.import_module(module)


def keep(name: str, body: Callable[[], int], environment: Mapping[str, str]) -> Callable[[], int]:
    """Run a body in a process of its own; the returned function waits for its status."""
    pid = os.fork()
    if pid == 0:
        os.environ.update(environment)
        for descriptor, kind in ((1, "out"), (2, "err")):
            os.dup2(os.open(IO / f"{name}.{kind}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        status = 70
        try:
            status = body()
        except SystemExit as left:
            status = int(left.code or 0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        LOADED.write_text("\n".join(sys.modules))
        os._exit(status)

    def wait() -> int:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        (IO / f"{name}.status").write_text(str(status))
        print(f"{time.monotonic():.1f} {name}: {status}", flush=True)
        load(*LOADED.read_text().split())
        return status

    return wait


def command(*arguments: str) -> Callable[[], int]:
    """The command line."""

    def body() -> int:
        sys.argv = ["railgauge", *arguments]
        command_line()
        return 0

    return body


def connected(name: str) -> None:
    """Wait until a scenario's rank here says that all rings are connected."""
    deadline, said = time.monotonic() + WAIT_S, IO / f"{name}.err"
    while not (said.exists() and "Init COMPLETE" in said.read_text()) and time.monotonic() < deadline:
        time.sleep(0.2)


class Together:
    """Scenarios that both guests run, in the same order. They meet at `hub`, an address of guest 0."""

    def __init__(self, guest: int, hub: str) -> None:
        self._other = _meet(guest, hub)
        self._begun = 0

    def begin(self, name: str, body: Callable[[], int], environment: Mapping[str, str]) -> Callable[[], int]:
        """As `keep`, of one that both guests begin together; it gets a MASTER_PORT of its own."""
        self._begun += 1
        self._other.settimeout(WAIT_S)
        self._other.sendall(b".")
        if not self._other.recv(1):
            raise EOFError("the other guest has ended")
        return keep(name, body, {**environment, "MASTER_PORT": str(FIRST_PORT + self._begun)})


def _meet(guest: int, hub: str) -> socket.socket:
    """A connection to the other guest's driver."""
    if guest == 0:
        with socket.create_server((hub, FIRST_PORT)) as listener:
            listener.settimeout(WAIT_S)
            return listener.accept()[0]
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            return socket.create_connection((hub, FIRST_PORT), timeout=WAIT_S)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
