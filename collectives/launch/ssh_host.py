# SPDX-License-Identifier: Apache-2.0
"""What the ssh launcher starts on each host: that host's processes of the job, which end when the launcher does.

    env NAME=VALUE ... python -P -m railgauge.collectives.launch.ssh_host FIRST GRACE_S FOLDER ARGUMENTS

starts `railgauge ARGUMENTS` LOCAL_WORLD_SIZE times in FOLDER, as ranks FIRST, FIRST + 1, ... The first line of stdin is
the job secret, which is therefore not in any command line; the second, which may be empty, what the user typed
(tether.COMMAND). The line STARTED on stderr is the answer. Nothing follows: stdin ends when the launcher, its ssh or
the connection is gone, and then this host's processes are killed. Once one has failed, the others have GRACE_S seconds
to end by themselves.
"""

import contextlib
import os
import select
import socket
import sys
from multiprocessing.process import BaseProcess

from railgauge.collectives.launch.forked_rank import prepare, start_rank
from railgauge.collectives.launch.processes import kill, wait
from railgauge.collectives.launch.tether import COMMAND, LAUNCHER_PID
from railgauge.transports.secret import MOST_BYTES
from railgauge.transports.secret import VARIABLE as SECRET

MOST_SECRET, MOST_COMMAND = MOST_BYTES + 1, 1 << 20
"""Maximum length of a line, including its end."""
LAUNCHER_GONE = 4
STARTED = b"railgauge: this host starts its ranks\n"
"""The line that shows the launcher that ssh and the login shell have worked."""


def main(arguments: list[str]) -> int:
    """Run this host's processes; the exit status is theirs."""
    first, grace_s, folder, *argv = arguments
    secret = sys.stdin.buffer.readline(MOST_SECRET).strip()
    if not secret:
        return LAUNCHER_GONE
    command = sys.stdin.buffer.readline(MOST_COMMAND).strip()
    _enter(folder)
    with contextlib.suppress(OSError):  # the connection itself may be gone
        os.write(sys.stderr.fileno(), STARTED)
    known = {SECRET: os.fsdecode(secret), COMMAND: os.fsdecode(command), LAUNCHER_PID: str(os.getpid())}
    environ = os.environ | known
    ranks: dict[int, BaseProcess] = {}
    try:
        prepare(argv[0])
        for local_rank in range(int(os.environ["LOCAL_WORLD_SIZE"])):
            rank = int(first) + local_rank
            place = {"RANK": str(rank), "LOCAL_RANK": str(local_rank)}
            ranks[rank] = start_rank(argv, environ | place, shows=rank == 0)
        status, message = wait(ranks, float(grace_s), _pause)
    finally:
        kill(ranks)
    if message:
        _say(message)
    return status


def _enter(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        _say(f"{folder}: {error.strerror}: using {os.getcwd()} as working directory instead")


def _pause(seconds: float) -> None:
    if select.select([sys.stdin], [], [], seconds)[0] and not os.read(sys.stdin.fileno(), MOST_SECRET):
        raise SystemExit(LAUNCHER_GONE)


def _say(what: str) -> None:
    with contextlib.suppress(OSError):  # the connection itself may be gone
        print(f"railgauge run: {socket.gethostname()}: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
