# SPDX-License-Identifier: Apache-2.0
"""Gathers captures and topology files of many nodes into a folder; each node's own railgauge makes them."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railgauge.collectives.launch.timeout import check_timeout
from railgauge.topo.errors import InputError, UnavailableError
from railgauge.topo.files.output_file import write_file
from railgauge.topo.findings.cluster.folder import CAPTURES, TOPOLOGY, Unread
from railgauge.topo.values.number import natural

if TYPE_CHECKING:
    from railgauge.collectives.launch.remote import RemoteResult

ARGUMENTS = {CAPTURES[0]: ("topo", "capture", "-o", "/dev/stdout"), TOPOLOGY: ("topo", "dump")}
"""By the ending of the file: the arguments for the node's railgauge, which writes it to stdout."""
FIND = """mark=$1; python=$2; shift 2
if "$python" -P -c "import railgauge" 2>/dev/null
then set -- "$python" -P -m railgauge "$@"
else set -- railgauge "$@"
fi
echo "$mark"; "$@"; status=$?; echo "$mark"; exit "$status\""""
"""Runs railgauge with the Python at our path, else the railgauge on the node's PATH. Two mark lines enclose its output,
because login scripts may print too."""
MARK = b"railgauge: 6f1d2c9ab04e7358\n"
MOST_FILE = 64 << 20
"""Limit in bytes for the output of a node: its file and what login scripts print. A capture has a few MiB."""
NOT_THERE = (126, 127)  # POSIX shell: the program cannot be run, or is not found


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherLimits:
    """timeout_s: time limit per node; fanout: nodes handled at a time."""

    timeout_s: float
    fanout: int

    def __post_init__(self) -> None:
        """UsageError: the timeout is too short or too long."""
        check_timeout(self.timeout_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCommand:
    """What makes a file on a node and writes it to stdout, between two lines with MARK.

    program: what messages call it. ending: of the file here. stdin: what the command reads. missing: what it means
    that it is not there. received: makes the file of what a node sent; InputError if it is not what was asked for.
    """

    program: str
    ending: str
    command: Sequence[str]
    missing: str
    stdin: bytes = b""
    received: Callable[[bytes], bytes] = bytes


@dataclass(frozen=True, slots=True)
class Gathered:
    """The nodes that sent nothing, and why; the nodes whose login scripts print to stdout."""

    failed: list[Unread]
    noisy: list[str]


def by_railgauge(ending: str) -> NodeCommand:
    """The railgauge of a node makes the file with that ending."""
    missing = f"railgauge is not installed there: neither with {sys.executable} nor on PATH"
    return NodeCommand(program="railgauge", ending=ending, command=railgauge_there(ARGUMENTS[ending]), missing=missing)


def gather(
    nodes: Mapping[str, str],
    folder: str,
    asked: NodeCommand,
    limits: GatherLimits,
    on_done: Callable[[Iterable[str]], None],
) -> Gathered:
    """Get the file that a command makes from all nodes (`nodes`: ssh destinations by name).

    UnavailableError if the folder cannot be written to, or ssh is missing.
    """
    from railgauge.collectives.launch.remote import run_on

    names = {destination: name for name, destination in nodes.items()}
    failed: list[Unread] = []
    noisy: list[str] = []

    def keep(destination: str, result: "RemoteResult") -> None:
        name = names[destination]
        noise, given = _parted(result.stdout)
        reason = _failure(result, given, asked)
        try:
            data = b"" if reason else asked.received(given)
        except InputError as error:
            reason = str(error)
        if reason:
            failed.append(Unread(name=name, reason=reason.replace(f" {name}", "")))  # so that equal reasons fold
        else:
            write_file(os.path.join(folder, name + asked.ending), data)
            noisy.extend([name] if noise else [])
        on_done([name])

    run_on(
        list(names),
        asked.command,
        timeout_s=limits.timeout_s,
        fanout=limits.fanout,
        stdin=asked.stdin,
        on_done=keep,
        most_output=MOST_FILE,
        folder=folder,
    )
    return Gathered(sorted(failed, key=lambda one: natural(one.name)), noisy)


def railgauge_there(arguments: Sequence[str]) -> list[str]:
    """The command that runs a node's railgauge; two lines with MARK enclose its output."""
    return ["sh", "-c", FIND, "sh", MARK.decode().strip(), sys.executable, *arguments]


def _parted(stdout: bytes) -> tuple[bytes, bytes]:
    """The output of login scripts, and railgauge's."""
    before, _, rest = stdout.partition(MARK)
    given, _, behind = rest.rpartition(MARK)
    return before + behind, given


def _failure(result: "RemoteResult", given: bytes, asked: NodeCommand) -> str | None:
    """Why a node sent nothing; None if it sent its file."""
    if result.status is None:
        return result.reason or "not reached"
    if result.status in NOT_THERE:
        return asked.missing
    if result.status != 0:
        return f"{asked.program} ended with status {result.status}: {result.last_words or 'no message'}"
    if not given and MARK not in result.stdout:
        return "the command did not run: does a login script exit the shell?"
    return None if given else "it sent no data"


def make_folder(path: str) -> None:
    """Make the folder if it does not exist. UnavailableError if that fails."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise UnavailableError(f"cannot create the folder {path}: {error.strerror}") from error
