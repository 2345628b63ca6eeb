# SPDX-License-Identifier: Apache-2.0
"""What a run was asked to do, and this process's place in it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.collectives.dtype import Dtype, Redop
from railgauge.topo.errors import UsageError
from railgauge.transports.fault import Fault


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """The flags of `railgauge run`, read and checked. Sizes in bytes, times in seconds."""

    collective: str
    sizes: tuple[int, ...]
    dtypes: tuple[Dtype, ...]
    redops: tuple[Redop, ...]
    begin: int
    end: int
    step: int
    factor: float
    iterations: int
    warmup: int
    aggregate: int
    cycles: int
    check: int
    average: int
    cpu_time: bool
    threads: int
    ranks_per_thread: int
    timeout_s: float
    graph_file: str | None
    fault: Fault | None
    min_busbw: float | None
    expect_transport: str | None
    json: bool

    @property
    def ranks_per_process(self) -> int:
        """Host ranks of one process: -t times -g."""
        return self.threads * self.ranks_per_thread


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """This process among the processes of the job, and where they meet."""

    process: int
    processes: int
    address: tuple[str, int]
    listen_fd: int | None


def place_from_environment(environ: Mapping[str, str] | None = None) -> Place | None:
    """Find this process's place as env:// does: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT; None without RANK.

    Raises:
        UsageError: some are there, but not all, or one is no number.
    """
    env = os.environ if environ is None else environ
    if "RANK" not in env and "WORLD_SIZE" not in env:
        _refuse_other_launchers(env)
        return None
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if not env.get(name)]
    if missing:
        raise UsageError(
            f"{', '.join(missing)} must be set too: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT belong together"
        )
    process, processes, port = (_number(env, name) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
    if not 0 <= process < processes:
        raise UsageError(f"RANK={process} is not in a world of WORLD_SIZE={processes}")
    fd = env.get("RAILGAUGE_LISTEN_FD")
    return Place(
        process=process,
        processes=processes,
        address=(env["MASTER_ADDR"], port),
        listen_fd=int(fd) if fd else None,
    )


OTHER_LAUNCHERS = {"OMPI_COMM_WORLD_SIZE": "Open MPI", "PMI_SIZE": "MPICH or PMI", "SLURM_STEP_NUM_TASKS": "srun"}


def _refuse_other_launchers(env: Mapping[str, str]) -> None:
    """Each process would take itself for a whole job, and all would look well."""
    for name, launcher in OTHER_LAUNCHERS.items():
        if env.get(name, "1") not in ("", "1"):
            raise UsageError(
                f"{name}={env[name]}: started by {launcher}, which this version does not read; "
                f"use --ranks, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"
            )


def _number(env: Mapping[str, str], name: str) -> int:
    try:
        return int(env[name])
    except ValueError:
        raise UsageError(f"{name}={env[name]} is not a number") from None
