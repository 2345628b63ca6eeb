# SPDX-License-Identifier: Apache-2.0
"""What every host must have before ranks are started over ssh, checked on all hosts at once:
a login without a password, the same railgauge, the first host's name, a shared folder with working locks.
"""

import contextlib
import fcntl
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from railgauge import __version__
from railgauge.collectives.launch import probe
from railgauge.collectives.launch.launch import Launch
from railgauge.collectives.launch.remote import MOST_SHOWN, RemoteResult, run_on
from railgauge.topo.errors import UnavailableError
from railgauge.topo.values.node_names import folded
from railgauge.transports.typed import read_printable_json

WITHIN_S = 30.0
FANOUT = 128
MOST_ANSWER = 65536
REMEDIES = {
    "Permission denied": "login without a password must work: ssh-copy-id HOST",
    "Host key verification failed": "log in once by hand: ssh HOST",
    "Could not resolve": "is the name in the hostfile correct?",
    "timed out": "is it up, and does a firewall allow ssh?",
    "No route": "is it up, and does a firewall allow ssh?",
    "Connection refused": "does sshd run there?",
}
"""What to try, by a part of ssh's message."""


def check(launch: Launch, rendezvous_at: str) -> None:
    """Check all hosts of the job, within 30 s; `rendezvous_at` is the name or address that all of them must resolve.

    Raises:
        UnavailableError: a host fails a check; one line for each problem, hosts with the same one folded.
    """
    with _locked_files(launch) as locked:
        question = {"names": [rendezvous_at], "locked": locked}
        results = run_on(
            [host.destination for host in launch.hosts],
            [sys.executable, "-P", "-", json.dumps(question)],
            timeout_s=WITHIN_S,
            fanout=FANOUT,
            stdin=Path(probe.__file__).read_bytes(),
        )
    lacking: dict[str, list[str]] = {}
    for node, result in results.items():
        for problem in problems(node, result):
            lacking.setdefault(problem, []).append(node)
    if lacking:
        lines = [f"{folded(nodes)}: {problem}" for problem, nodes in lacking.items()]
        raise UnavailableError("\n  ".join([f"not all of the {len(results)} hosts are ready:", *lines]))


def problems(node: str, result: RemoteResult) -> list[str]:
    """The problems in a host's result, worded the same for every host."""
    if result.status is None:
        name = re.escape(node.rpartition("@")[2])
        reason = re.sub(rf"(?<![\w.-]){name}(?![\w-])", "HOST", result.reason or "not reached").rstrip(".")
        remedy = next((remedy for part, remedy in REMEDIES.items() if part in reason), None)
        return [f"{reason}{f' ({remedy})' if remedy else ''}"]
    if result.status in (126, 127):
        return [f"no {sys.executable} there: railgauge must be installed at the same path on all hosts"]
    if result.status:
        said = result.last_words
        return [f"{sys.executable} ended with status {result.status}{f': {said}' if said else ''}"]
    return _read(result.stdout)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAnswer:
    """What a host answers: its release of railgauge (None: not installed), and what does not work there, and why."""

    version: str | None
    problems: dict[str, str]


def _read(stdout: bytes) -> list[str]:
    """The problems in a probe's answer: its last line, since login scripts may print before it."""
    lines = stdout[-MOST_ANSWER:].strip().splitlines()
    try:
        answer: ProbeAnswer = read_printable_json(lines[-1] if lines else b"", ProbeAnswer)
    except ValueError:
        said = lines[-1][:80].decode(errors="replace") if lines else "nothing"
        return [f"it answered {said!r}: does a login script end the shell, or print after commands?"]
    if answer.version is None:
        return [f"{sys.executable} there has no railgauge: install {__version__} on all hosts"]
    if answer.version != __version__:
        return [
            f"railgauge {answer.version[:MOST_SHOWN]} there, {__version__} here: install the same version on all hosts"
        ]
    return [f"{what}: {why}"[:MOST_SHOWN] for what, why in answer.problems.items()]


@contextlib.contextmanager
def _locked_files(launch: Launch) -> Iterator[list[str]]:
    """A locked file in the directory of the rendezvous file (--init-method file://), if there is one."""
    folder = _rendezvous_folder(launch.init_method)
    if folder is None:
        yield []
        return
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.NamedTemporaryFile(dir=folder, prefix=".railgauge-preflight-"))
            fcntl.lockf(file, fcntl.LOCK_EX)
        except OSError as error:
            raise UnavailableError(f"{folder}: {error.strerror}: cannot use a rendezvous file there") from None
        yield [file.name]


def _rendezvous_folder(init_method: str | None) -> str | None:
    if init_method is None or not init_method.startswith("file:"):
        return None
    return os.path.dirname(unquote(urlsplit(init_method).path))
