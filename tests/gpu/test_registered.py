# SPDX-License-Identifier: Apache-2.0
"""Memory that all ranks map, as programs register and take it."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]
BEGINNING = """
import os

from tests.gpu.on_gpu import connected
from tests.transports.ranks import on_ranks

from railgauge._native import collectives as native
from railgauge.collectives.case import OperationCase
from railgauge.collectives.dtype import Dtype, Redop
from railgauge.collectives.gpu_bench import GpuBench, registered
from railgauge.collectives.gpu_way import KernelLaunch
from railgauge.collectives.operation import NUMBERS
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.errors import Error

import numpy as np


def read(array):
    host = np.empty(array.shape, np.float32)
    array.memory.read(host)
    return host


def on_two(part):
    for told in on_ranks(2, part, 30):
        if isinstance(told, BaseException):
            raise told
        print(told)
"""


def told(fake_gpus, program: str, faults: str = "", **settings: str) -> str:
    """What a program prints that two ranks run, each with a GPU."""
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(2, faults=faults), **settings)
    asked = (sys.executable, "-c", BEGINNING + textwrap.dedent(program))
    result = subprocess.run(
        asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_symmetric_arrays_are_arrays(fake_gpus):
    program = """
        def part(bootstrap):
            comm = connected(bootstrap)
            comm.choose(Collective.ALL_GATHER, [(1 << 60, KernelLaunch(Algorithm.COPY_ENGINE, Protocol.SIMPLE))])
            with comm.allocate(3, Dtype.FLOAT) as source, comm.allocate((2, 3), Dtype.FLOAT) as destination:
                source.memory.write(np.full(3, comm.rank + 1, np.float32))
                comm.all_gather(source, destination)
                comm.synchronize()
                told = read(destination).tolist(), source.is_mapped, destination.__cuda_array_interface__["typestr"]
            comm.close()
            return told

        on_two(part)
        """
    assert told(fake_gpus, program) == 2 * "([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]], True, '<f4')\n"


def test_arrays_of_a_program_are_registered_and_closed(fake_gpus):
    program = """
        class Array:
            def __init__(self, comm, count):
                self.memory, self.shape = native.GpuMemory(comm.device, 4 * count), (count,)
                where = {"data": (self.memory.pointer, False), "shape": (count,), "typestr": "<f4", "version": 3}
                self.__cuda_array_interface__ = where

        def part(bootstrap):
            comm = connected(bootstrap)
            comm.choose(Collective.ALL_REDUCE, [(1 << 60, KernelLaunch(Algorithm.ZERO_COPY, Protocol.SIMPLE))])
            array = Array(comm, 1000)
            array.memory.write(np.full(1000, comm.rank + 1, np.float32))
            registered = comm.register(array)
            comm.all_reduce(array, array)
            comm.synchronize()
            registered.close()
            registered.close()
            try:
                comm.all_reduce(array, array)
            except Error as error:
                refused = str(error)
            comm.close()
            return set(read(array).tolist()), registered.is_mapped, refused

        on_two(part)
        """
    assert told(fake_gpus, program) == 2 * "({3.0}, False, 'these arrays are not registered memory')\n"


def test_other_places_of_symmetric_memory_are_an_error(fake_gpus):
    program = """
        def part(bootstrap):
            comm = connected(bootstrap)
            launch = KernelLaunch(Algorithm.COPY_ENGINE, Protocol.SIMPLE)
            memory = comm.registered_memory(4096, symmetric=True)
            at = memory.pointer + 1024 + 256 * comm.rank
            number = NUMBERS[Collective.ALL_GATHER]
            try:
                comm._engine.run(number, memory.pointer, at, 16, int(Dtype.FLOAT), 0, 0, 0, 6)
                comm.synchronize()
            except Error as error:
                return str(error)

        on_two(part)
        """
    assert "passed a different offset in its symmetric memory" in told(fake_gpus, program)


def test_symmetric_memory_is_of_one_size(fake_gpus):
    program = """
        def part(bootstrap):
            comm = connected(bootstrap)
            try:
                comm.allocate(4 + comm.rank, Dtype.FLOAT)
            except Error as error:
                return type(error).__name__, str(error)

        on_two(part)
        """
    wanted = ("MismatchError", "symmetric memory: rank 1 asks for 20 bytes, rank 0 for 16")
    assert told(fake_gpus, program) == 2 * f"{wanted}\n"


@pytest.mark.parametrize(
    ("registered", "beyond"), [("source", 0), ("source", 4), ("destination", 0), ("destination", 4)]
)
def test_an_array_that_goes_beyond_what_is_registered_is_not(fake_gpus, registered, beyond):
    program = f"""
        def part(bootstrap):
            comm = connected(bootstrap)
            memory = {{name: native.GpuMemory(comm.device, 1 << 16) for name in ("source", "destination")}}
            needs = {{"source": 64, "destination": 128}}
            for name, one in memory.items():
                comm._open(one.pointer, needs[name] - ({beyond} if name == "{registered}" else 0), symmetric=True)
            number, at = NUMBERS[Collective.ALL_GATHER], [one.pointer for one in memory.values()]
            refused = []
            for way in (5, 6):
                try:
                    comm._engine.run(number, *at, 16, int(Dtype.FLOAT), 0, 0, 0, way)
                    comm.synchronize()
                except Error as error:
                    refused.append(str(error))
            comm.close()
            return refused

        on_two(part)
        """
    refused = ["these arrays are not registered memory", "the copy engine copies only within symmetric memory"]
    assert told(fake_gpus, program) == 2 * f"{refused if beyond else []}\n"


def test_without_p2p_nothing_is_mapped_and_all_goes_on(fake_gpus):
    program = """
        def part(bootstrap):
            comm = connected(bootstrap)
            with comm.allocate(5, Dtype.FLOAT) as array:
                array.memory.write(np.full(5, comm.rank + 1, np.float32))
                comm.all_reduce(array, array)
                comm.synchronize()
                told = read(array).tolist(), array.is_mapped
            comm.close()
            return told

        on_two(part)
        """
    assert told(fake_gpus, program, NCCL_P2P_DISABLE="1") == 2 * "([3.0, 3.0, 3.0, 3.0, 3.0], False)\n"


def test_memory_that_cannot_be_lent_is_named(fake_gpus):
    program = """
        def part(bootstrap):
            comm = connected(bootstrap)
            os.environ["FAKE_CUDA_FAULTS"] = "cuMemGetAddressRange_v2=1"
            try:
                comm.allocate(5, Dtype.FLOAT)
            except Error as error:
                return str(error)

        on_two(part)
        """
    said = told(fake_gpus, program)
    assert said.count("rank 0: registering memory on this GPU") == 2


@pytest.mark.parametrize("register", ["1", "2"])
def test_a_run_on_registered_memory_is_right(fake_gpus, register):
    asked = ("run", "all_gather", "-b", "8", "-e", "16M", "-f", "2048", "-n", "2", "-w", "0", "-G", "1", "-R", register)
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(2))
    command = (sys.executable, "-m", "railgauge", *asked, "-g", "2", "--device", "cuda")
    result = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "# Out of bounds values : 0 OK" in result.stdout


def test_the_memory_of_r_2_is_symmetric_so_that_the_copy_engine_may_copy(fake_gpus):
    program = """
        case = OperationCase(collective=Collective.ALL_GATHER, count=16, dtype=Dtype.FLOAT, op=Redop.SUM, root=0)

        def part(bootstrap):
            comm = connected(bootstrap)
            ran = []
            for register in (1, 2):
                bench = GpuBench(comm, 1 << 10, allocate=registered(comm, register))
                comm.choose(Collective.ALL_GATHER, [(1 << 60, KernelLaunch(Algorithm.COPY_ENGINE, Protocol.SIMPLE))])
                try:
                    bench.repeat(case, in_place=False)
                except Error as error:
                    ran.append(str(error))
                else:
                    ran.append(str(bench.ran(case).algorithm))
            comm.close()
            return ran

        on_two(part)
        """
    ran = ["the copy engine copies only within symmetric memory", "copy-engine"]
    assert told(fake_gpus, program).splitlines() == [str(ran)] * 2
