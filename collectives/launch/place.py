# SPDX-License-Identifier: Apache-2.0
"""This process's place in its job, from the environment set by the program that started it.

Variables set by hand (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, as torch's env://) take precedence over a launcher's.
Ranks here are processes, as RANK counts them; with -t and -g each process holds several ranks of the communicator.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from railgauge.collectives.launch.tether import LAUNCHER_PID
from railgauge.topo.errors import UsageError

Environment = Mapping[str, str]

SLURM_SPECIAL_STEPS = 0xFFFFFFF0  # slurm.h SLURM_MAX_NORMAL_STEP_ID: batch script, salloc's shell, external step
FIRST_SLURM_PORT, SLURM_PORTS = 20000, 12000  # below Linux's ephemeral ports (32768)

MOST_RANKS = 1 << 17
"""Limit of a job: process 0 keeps a connection for each, and a name for each that is missing."""
BY_HAND = "RANK and WORLD_SIZE"
HAND_SET = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
"""Variables that take precedence over any launcher: left over from another job, they would give every process the same
rank."""
TORCHELASTIC = ("TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
PLACE = frozenset(
    (
        *HAND_SET,
        *TORCHELASTIC,
        *("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        *("PMI_RANK", "PMI_SIZE", "PMI_FD", "PMI_PORT", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
        *("PMIX_RANK", "PMIX_NAMESPACE"),
    )
)
"""Variables that make a process a rank of a job. Slurm's are not among them: its commands need them to know the
allocation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """This process among the processes of the job, and their rendezvous."""

    process: int
    processes: int
    local_process: int | None = None
    """Its number among those of this host; None: unknown."""
    local_processes: int | None = None
    init_method: str
    """A URL as transports/init_method.py reads it."""
    launcher: str
    """What started it, for messages."""
    job: str = field(default="", compare=False)
    """The launcher's name of the job, the same for all its processes; empty without one."""

    def __post_init__(self) -> None:
        _check_number(self.process, self.processes, "rank", self.launcher)
        if self.local_process is not None and self.local_processes is not None:
            _check_number(self.local_process, self.local_processes, "local rank", self.launcher)


def _check_number(number: int, of: int, what: str, launcher: str) -> None:
    if not 0 <= number < of:
        raise UsageError(f"{what} {number} is out of range for world size {of} (set by {launcher})")
    check_world(of)


def check_world(ranks: int) -> None:
    """Reject more ranks than a job can have.

    Raises:
        UsageError: there are more.
    """
    if ranks > MOST_RANKS:
        raise UsageError(f"world size {ranks} is too large: a job has at most {MOST_RANKS} ranks")


def find_place(environ: Environment | None = None, init_method: str | None = None) -> Place | None:
    """The place that the environment gives this process; None if it was not started as part of a job.

    `init_method` is one that the user chose: it replaces MASTER_ADDR and MASTER_PORT and the launcher's.

    Raises:
        UsageError: only some of the variables are set, one is not a number, or they contradict each other.
        UnavailableError: a PMIx launcher does not set the number of processes, and its server cannot be reached.
    """
    env = os.environ if environ is None else environ
    if env.get("RANK"):
        return _by_hand(env, init_method)
    place = next((found for find in LAUNCHERS if (found := find(env))), None)
    _check_world_size(env, place)
    if place is None:
        return None
    return replace(place, init_method=init_method or ("env://" if _has_master(env) else place.init_method))


def tasks_of_allocation(environ: Environment | None = None) -> int:
    """The number of tasks of this process's Slurm allocation (SLURM_NTASKS); 1 if it is not set.

    Raises:
        UsageError: SLURM_NTASKS is not a valid number of tasks.
    """
    env = os.environ if environ is None else environ
    tasks = _number_if_set(env, "SLURM_NTASKS")
    if tasks is not None and tasks < 1:
        raise UsageError(f"SLURM_NTASKS={tasks}: expected at least 1")
    return tasks or 1


def without_place(environ: Environment) -> dict[str, str]:
    """The environment for processes that get a place of their own, without this process's place."""
    return {name: value for name, value in environ.items() if name not in PLACE}


def _by_hand(env: Environment, init_method: str | None) -> Place:
    needed = ("WORLD_SIZE",) if init_method else ("WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    if missing := [name for name in needed if not env.get(name)]:
        raise UsageError(f"RANK={env['RANK']} is set, so {', '.join(missing)} must be set too (or unset RANK)")
    return Place(
        process=_number(env, "RANK"),
        processes=_number(env, "WORLD_SIZE"),
        local_process=_number_if_set(env, "LOCAL_RANK"),
        local_processes=_number_if_set(env, "LOCAL_WORLD_SIZE"),
        init_method=init_method or "env://",
        launcher=_setter(env),
        job=f"torchrun {env['TORCHELASTIC_RUN_ID']}" if _setter(env) == "torchrun" else "",
    )


def _setter(env: Environment) -> str:
    """Who set RANK."""
    if LAUNCHER_PID in env:
        return "railgauge"
    return "torchrun" if "TORCHELASTIC_RUN_ID" in env else BY_HAND


def _check_world_size(env: Environment, place: Place | None) -> None:
    """WORLD_SIZE without RANK is incomplete, unless a launcher sets the rank."""
    if not env.get("WORLD_SIZE"):
        return
    if place is None:
        raise UsageError(f"WORLD_SIZE={env['WORLD_SIZE']} is set, so RANK must be set too (or unset both)")
    if _number(env, "WORLD_SIZE") != place.processes:
        raise UsageError(
            f"WORLD_SIZE={env['WORLD_SIZE']}, but {place.launcher} started {place.processes}: unset WORLD_SIZE"
        )


def _has_master(env: Environment) -> bool:
    """Whether MASTER_ADDR and MASTER_PORT give the rendezvous; an error for one without the other."""
    there = [name for name in ("MASTER_ADDR", "MASTER_PORT") if env.get(name)]
    if len(there) == 1:
        other = "MASTER_PORT" if there == ["MASTER_ADDR"] else "MASTER_ADDR"
        raise UsageError(f"{there[0]}={env[there[0]]} is set, so {other} must be set too (or unset both)")
    return bool(there)


def _open_mpi(env: Environment) -> Place | None:
    """Open MPI's mpirun, 4 (orted) and 5 (prted): both have a PMIx server."""
    if "OMPI_COMM_WORLD_RANK" not in env:
        return None
    return Place(
        process=_number(env, "OMPI_COMM_WORLD_RANK"),
        processes=_number(env, "OMPI_COMM_WORLD_SIZE"),
        local_process=_number_if_set(env, "OMPI_COMM_WORLD_LOCAL_RANK"),
        local_processes=_number_if_set(env, "OMPI_COMM_WORLD_LOCAL_SIZE"),
        init_method="pmix://",
        launcher="Open MPI",
    )


def _hydra(env: Environment) -> Place | None:
    """MPICH's, Intel MPI's and MVAPICH's process manager; unlike Slurm's own PMI it numbers the ranks of a host."""
    return _pmi(env) if "MPI_LOCALRANKID" in env else None


def _pmi(env: Environment) -> Place | None:
    """Any process manager that speaks PMI-1: gforker, Flux."""
    if "PMI_RANK" not in env and "PMI_PORT" in env:
        raise UsageError("PMI_PORT is set, but not PMI_RANK: start it without hydra's -pmi-port")
    if "PMI_RANK" not in env:
        return None
    return Place(
        process=_number(env, "PMI_RANK"),
        processes=_number(env, "PMI_SIZE"),
        local_process=_number_if_set(env, "MPI_LOCALRANKID"),
        local_processes=_number_if_set(env, "MPI_LOCALNRANKS"),
        init_method="pmi://",
        launcher="MPICH or PMI",
    )


def _pmix(env: Environment) -> Place | None:
    """A PMIx launcher that belongs to no MPI (prterun): only its server knows the number of processes."""
    if "PMIX_RANK" not in env or "PMIX_NAMESPACE" not in env:
        return None
    from railgauge.transports.store.pmix_store import job_size

    return Place(
        process=_number(env, "PMIX_RANK"), processes=job_size(), init_method="pmix://", launcher="a PMIx launcher"
    )


def _slurm(env: Environment) -> Place | None:
    """A task of srun. A batch script and salloc's shell have SLURM_PROCID=0 too, but are not tasks of a step."""
    step = _number_if_set(env, "SLURM_STEP_ID")
    if "SLURM_PROCID" not in env or step is None or step >= SLURM_SPECIAL_STEPS:
        return None
    processes = "SLURM_STEP_NUM_TASKS" if "SLURM_STEP_NUM_TASKS" in env else "SLURM_NTASKS"
    return Place(
        process=_number(env, "SLURM_PROCID"),
        processes=_number(env, processes),
        local_process=_number_if_set(env, "SLURM_LOCALID"),
        local_processes=_slurm_tasks_here(env),
        init_method=f"tcp://{_first_slurm_host(env)}:{_slurm_port(env)}",
        launcher="srun",
        job=f"Slurm {_required(env, 'SLURM_JOB_ID')}.{_required(env, 'SLURM_STEP_ID')}",
    )


LAUNCHERS: tuple[Callable[[Environment], Place | None], ...] = (_open_mpi, _hydra, _slurm, _pmix, _pmi)
"""In this order: an mpirun within an allocation starts its daemons by srun, so its ranks see Slurm's variables too."""


def _first_slurm_host(env: Environment) -> str:
    """The host of task 0: the first of SLURM_STEP_NODELIST, gpu001 of `gpu[001-004,9],login`."""
    nodes = env.get("SLURM_STEP_NODELIST") or _required(env, "SLURM_JOB_NODELIST")
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])+", nodes)
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", first.group() if first else nodes)


def _slurm_port(env: Environment) -> int:
    """The same on all tasks of a step, and another one for the next step and for another job on the host."""
    return FIRST_SLURM_PORT + (_number(env, "SLURM_JOB_ID") * 31 + _number(env, "SLURM_STEP_ID")) % SLURM_PORTS


def _slurm_tasks_here(env: Environment) -> int | None:
    """This node's count in SLURM_STEP_TASKS_PER_NODE, which reads like `4(x2),3`."""
    text, node = env.get("SLURM_STEP_TASKS_PER_NODE", ""), _number_if_set(env, "SLURM_NODEID")
    if node is None or node < 0:
        return None
    for tasks, times in re.findall(r"([0-9]{1,9})(?:\(x([0-9]{1,9})\))?", text):
        node -= int(times or 1)
        if node < 0:
            return int(tasks) or None  # at least 1: this process runs here
    return None


def _required(env: Environment, name: str) -> str:
    if not env.get(name):
        raise UsageError(f"{name} is not set, but other variables of its launcher are: was the environment filtered?")
    return env[name]


def _number(env: Environment, name: str) -> int:
    text = _required(env, name)
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise UsageError(f"{name}={text[:100]} is not a number")
    return int(text)


def _number_if_set(env: Environment, name: str) -> int | None:
    return _number(env, name) if env.get(name) else None
