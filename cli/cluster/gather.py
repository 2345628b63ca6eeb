# SPDX-License-Identifier: Apache-2.0
"""Captures and topology files of many nodes, made there by their own railgauge and gathered into a folder."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railgauge.collectives.launch.timeout import check_timeout
from railgauge.topo.errors import UnavailableError
from railgauge.topo.files.output_file import write_file
from railgauge.topo.findings.cluster.folder import CAPTURES, TOPOLOGY, Unread
from railgauge.topo.values.number import natural

if TYPE_CHECKING:
    from railgauge.collectives.launch.remote import RemoteResult

ASKED = {CAPTURES[0]: ("topo", "capture", "-o", "/dev/stdout"), TOPOLOGY: ("topo", "dump")}
"""By the ending of the file: what the node's railgauge is asked for on its stdout."""
FIND = """mark=$1; python=$2; shift 2
if "$python" -P -c "import railgauge" 2>/dev/null
then set -- "$python" -P -m railgauge "$@"
else set -- railgauge "$@"
fi
echo "$mark"; "$@"; status=$?; echo "$mark"; exit "$status\""""
"""Runs the railgauge that is where ours is, else the one on the node's PATH. What it prints stands between two lines
that mark it, for login scripts may print too."""
MARK = b"railgauge: 6f1d2c9ab04e7358\n"
MOST_FILE = 64 << 20
"""Bytes that a node may send: its file, and what login scripts print. A capture has a few MiB at most."""
NOT_THERE = (126, 127)  # a POSIX shell's statuses for a program that cannot be run, or is not found


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """timeout_s: how long a node may take; fanout: how many are asked at a time."""

    timeout_s: float
    fanout: int

    def __post_init__(self) -> None:
        """UsageError: nobody can wait so long or so short."""
        check_timeout(self.timeout_s)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The nodes that gave nothing, and why; those whose login scripts print where commands are run."""

    failed: list[Unread]
    noisy: list[str]


def gather(
    nodes: Mapping[str, str], folder: str, ending: str, limits: Limits, on_done: Callable[[int], None]
) -> Gathered:
    """Ask all nodes (what ssh is given, by name) for the file of that ending.

    UnavailableError when the folder cannot be written to, or there is no ssh.
    """
    from railgauge.collectives.launch.remote import run_on

    names = {destination: name for name, destination in nodes.items()}
    failed: list[Unread] = []
    noisy: list[str] = []

    def keep(destination: str, result: "RemoteResult") -> None:
        name = names[destination]
        noise, given = _parted(result.stdout)
        if reason := _failure(result, given):
            failed.append(Unread(name=name, reason=reason.replace(f" {name}", "")))  # so that reasons fold
        else:
            write_file(os.path.join(folder, name + ending), given)
            noisy.extend([name] if noise else [])
        on_done(1)

    run_on(
        list(names),
        railgauge_there(ASKED[ending]),
        timeout_s=limits.timeout_s,
        fanout=limits.fanout,
        on_done=keep,
        most_output=MOST_FILE,
        folder=folder,
    )
    return Gathered(sorted(failed, key=lambda one: natural(one.name)), noisy)


def railgauge_there(arguments: Sequence[str]) -> list[str]:
    """The command that has a node's railgauge do something; what it prints stands between two lines that are MARK."""
    return ["sh", "-c", FIND, "sh", MARK.decode().strip(), sys.executable, *arguments]


def _parted(stdout: bytes) -> tuple[bytes, bytes]:
    """What login scripts printed, and what railgauge did."""
    before, _, rest = stdout.partition(MARK)
    given, _, behind = rest.rpartition(MARK)
    return before + behind, given


def _failure(result: "RemoteResult", given: bytes) -> str | None:
    """Why a node gave nothing, None when it did."""
    if result.status is None:
        return result.reason or "not reached"
    if result.status in NOT_THERE:
        return f"railgauge is not installed there: neither with {sys.executable} nor on PATH"
    if result.status != 0:
        return f"railgauge ended with status {result.status}: {result.last_words or 'it did not say why'}"
    if not given and MARK not in result.stdout:
        return "the command was not run: does a login script end the shell?"
    return None if given else "it sent nothing"


def make_folder(path: str) -> None:
    """Make the folder if it is not there. UnavailableError when that fails."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise UnavailableError(f"cannot make the folder {path}: {error.strerror}") from error
