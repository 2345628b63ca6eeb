# SPDX-License-Identifier: Apache-2.0
"""The launchers that scripts/peers installs, each run as it is; a test that needs one that is absent is skipped."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.patience import HANGS_AFTER_S

PEERS = Path(__file__).parents[3] / "build/peers"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def peer(name: str, program: str = "mpirun") -> str:
    """The path of a peer's program."""
    path = PEERS / name / "bin" / program
    if not path.exists():
        pytest.skip(f"no {path.name} of {name}: scripts/peers {name} installs it")
    return str(path)


def launch(*command: str, timeout: float = HANGS_AFTER_S, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a launcher's command to its end, in a session of its own, of which nothing is left."""
    with subprocess.Popen(
        command,
        env=clean_environment(**AS_ROOT, **env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def on_path(program: str) -> str:
    """PATH with the folder of that program in front."""
    return f"{Path(program).parent}:{os.environ['PATH']}"


def pids_with(mark: str) -> list[int]:
    """Processes that have this in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in words:
                found.append(int(folder.name))
    return found
