# SPDX-License-Identifier: Apache-2.0
"""The mpirun launcher: Open MPI's or MPICH's, whichever is on PATH; ranks read their rank from its variables.

Hosts are in the command itself, so what --dry-run prints runs as it is. The rendezvous is through the launcher (PMIx or
PMI), or at MASTER_ADDR and MASTER_PORT if these are given with -x.
"""

import functools
import os
import subprocess
from collections.abc import Mapping
from enum import StrEnum

from railgauge.collectives.launch.hostfile import Host
from railgauge.collectives.launch.launch import (
    BY_ENVIRONMENT,
    Ended,
    Launch,
    environment,
    placeless_command,
    program,
    run_command,
    variables_of,
)
from railgauge.topo.errors import UnavailableError, UsageError

ASK_WITHIN_S = 30.0
OPEN_MPI_AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")


class Mpi(StrEnum):
    """Whose mpirun it is."""

    OPEN_MPI = "Open MPI"
    MPICH = "MPICH"


def commands(launch: Launch) -> list[list[str]]:
    """The one command that starts all ranks.

    Raises:
        UnavailableError: there is no mpirun, or it is neither of those two.
        UsageError: -x is invalid, or a host cannot be given to this mpirun.
    """
    return [_command(launch, os.environ)]


def start(launch: Launch) -> Ended:
    """Run it and wait; errors are those of `commands`."""
    exported = environment(launch)
    return run_command(_command(launch, exported), exported, launch.hosts)


def _command(launch: Launch, environ: Mapping[str, str]) -> list[str]:
    """The command to be run in that environment."""
    mpirun = program("mpirun")
    mpi = whose(mpirun)
    options = _mpich(launch) if mpi is Mpi.MPICH else [*_open_mpi(launch), *_open_mpi_exports(environ)]
    return [mpirun, *options, *placeless_command(launch)]


@functools.cache
def whose(mpirun: str) -> Mpi:
    """Whose program this is, as its --version says.

    Raises:
        UnavailableError: it does not answer, or it is another's.
    """
    try:
        asked = subprocess.run(
            [mpirun, "--version"], capture_output=True, text=True, timeout=ASK_WITHIN_S, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{mpirun} --version does not answer: {error}") from None
    if "Open MPI" in asked.stdout or "OpenRTE" in asked.stdout:
        return Mpi.OPEN_MPI
    if any(name in asked.stdout for name in ("HYDRA", "MPICH", "Intel(R) MPI")):
        return Mpi.MPICH
    said = (asked.stdout + asked.stderr).strip().partition("\n")[0]
    raise UnavailableError(f"{mpirun} is neither Open MPI's nor MPICH's (it says: {said[:100]!r}): use --launcher ssh")


def _open_mpi(launch: Launch) -> list[str]:
    options = ["-np", str(launch.processes)]
    if os.geteuid() == 0 and not all(os.environ.get(name) for name in OPEN_MPI_AS_ROOT):
        options.append("--allow-run-as-root")  # it refuses otherwise; railgauge does nothing that only root may
    if launch.hosts:
        options += ["--host", ",".join(f"{_open_mpi_name(host)}:{host.slots}" for host in launch.hosts)]
    else:
        options.append("--oversubscribe")  # else it starts no more ranks than there are cores
    options += ["--bind-to", "none"]  # railgauge binds its ranks to the cores near their NICs and GPUs
    for name, value in variables_of(launch).items():
        options += ["-x", f"{name}={value}"]
    return options


def _open_mpi_exports(environ: Mapping[str, str]) -> list[str]:
    """-x for variables in the environment only; mpirun warns of one that is not set."""
    return [word for name in BY_ENVIRONMENT if name in environ for word in ("-x", name)]


def _open_mpi_name(host: Host) -> str:
    if ":" in host.address:
        raise UsageError(f"{host.address}: mpirun takes no IPv6 addresses with slots: give the host a name")
    return host.destination


def _mpich(launch: Launch) -> list[str]:
    options = ["-np", str(launch.processes)]
    if launch.hosts:
        options += ["-hosts", ",".join(f"{_mpich_name(host)}:{host.slots}" for host in launch.hosts)]
    options += ["-bind-to", "none"]
    for name, value in variables_of(launch).items():
        options += ["-genv", name, value]
    return options  # hydra forwards the whole environment, including the secret


def _mpich_name(host: Host) -> str:
    if host.user or ":" in host.address:
        raise UsageError(f"{host.destination}: MPICH's -hosts takes plain names: set the user in ~/.ssh/config")
    return host.address
