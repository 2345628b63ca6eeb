# SPDX-License-Identifier: Apache-2.0
"""railgauge gate slurm: drains the node in Slurm when it is broken; for HealthCheckProgram and prologs."""

import os
import re
import shlex
import shutil
import subprocess
from typing import Annotated

import typer

from railgauge.cli.gate.node import FailOn, From, Only, SaveCapture, Skip, judge, leave_closed
from railgauge.cli.streams import tell
from railgauge.topo.errors import UnavailableError, UsageError
from railgauge.topo.findings.finding import Finding, Level

MARK = "railgauge: "
"""The start of a reason that is ours: another one is never overwritten, and never resumed."""
MOST_REASON = 200
"""Characters of a reason; sinfo -R shows the first 20."""
SCONTROL_S = 20.0
"""Slurm's own MessageTimeout is 10 s. It ends a HealthCheckProgram after 60 s (slurm.conf(5))."""
NODE_NAME = re.compile(r"[A-Za-z0-9_.-]+")


def slurm(
    source: From = None,
    only: Only = None,
    skip: Skip = None,
    fail_on: FailOn = Level.FAIL,
    save: SaveCapture = None,
    node: Annotated[
        str | None, typer.Option("--node", metavar="NAME", help="Slurm's name of this node.", show_default=False)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume a node that railgauge drained once it is good.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the scontrol command; run nothing.")] = False,
) -> None:
    """Drain this node in Slurm, with the reason, when it is broken.

    Exit status: 0 the node is good, 1 it is broken and drained. It is neither drained nor resumed with 3: nothing could
    be checked, or scontrol does not answer; and with 70: an error of railgauge itself.

    Use it as HealthCheckProgram, or in a prolog. Without --node the name is SLURMD_NODENAME, or the short host name.

    Examples:
        railgauge gate slurm --resume
        railgauge gate slurm --dry-run --from @dgx-h100-port-down
    """
    if source is not None and node is None and not dry_run:
        raise UsageError("--from requires --node or --dry-run: its findings may not be those of this node")
    name = _name(node)
    judged = judge(source, only, skip, fail_on, save)
    if judged.counted:
        _drain(name, _reason(judged.counted), dry_run=dry_run)
    leave_closed(judged)
    if resume:
        _resume(name, dry_run=dry_run)


def _name(node: str | None) -> str:
    """The node's name in Slurm; UsageError if it is none."""
    name = node or os.environ.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0]
    if not NODE_NAME.fullmatch(name):
        raise UsageError(f"--node {name!r}: not a node's name: letters, digits, _ . and - only")
    return name


def _reason(counted: tuple[Finding, ...]) -> str:
    from railgauge.topo.render.verdict import reason

    return MARK + reason(counted, MOST_REASON - len(MARK))


def _drain(name: str, why: str, *, dry_run: bool) -> None:
    tell(f"railgauge: {name}: {why.removeprefix(MARK)}")
    states, present = ((), "") if dry_run else _state(name)
    if "DRAIN" in states and (present == why or not present.startswith(MARK)):
        return
    _update(name, "DRAIN", [f"Reason={why}"], dry_run=dry_run)


def _resume(name: str, *, dry_run: bool) -> None:
    states, present = ((), MARK) if dry_run else _state(name)
    if dry_run or ("DRAIN" in states and present.startswith(MARK)):
        _update(name, "RESUME", [], dry_run=dry_run)


def _update(name: str, state: str, more: list[str], *, dry_run: bool) -> None:
    command = ["scontrol", "update", f"NodeName={name}", f"State={state}", *more]
    if dry_run:
        print(shlex.join(command))
    else:
        _scontrol(command)


def _state(name: str) -> tuple[tuple[str, ...], str]:
    """The node's states, such as ("IDLE", "DRAIN"), and the reason without its author and time."""
    told = _scontrol(["scontrol", "--oneliner", "show", "node", name])
    states = re.search(r"\bState=(\S+)", told)
    why = re.search(r"\bReason=(.*?)(?: \[[^\]]*\])?\s*$", told)
    return tuple(states[1].split("+")) if states else (), why[1] if why else ""


def _scontrol(command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        raise UnavailableError(f"{command[0]} was not found: install Slurm's commands, or use --dry-run")
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SCONTROL_S, check=False, errors="replace"
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"{shlex.join(command)}: no answer in {SCONTROL_S:g} s: is slurmctld up?") from None
    if done.returncode:
        raise UnavailableError(f"{shlex.join(command)}: {(done.stderr or done.stdout).strip()[:500]}")
    return done.stdout
