# SPDX-License-Identifier: Apache-2.0
"""Arrays on GPUs that overlap otherwise than in place are refused, as those of the host are."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]
PROGRAM = """
    from tests.gpu.on_gpu import connected
    from tests.transports.ranks import on_ranks
    from railgauge._native import collectives as native
    from railgauge.topo.errors import UsageError

    class Floats:
        def __init__(self, memory, at, count):
            data = (memory.pointer + 4 * at, False)
            self.__cuda_array_interface__ = {{"version": 3, "shape": (count,), "typestr": "<f4", "data": data}}

    def part(bootstrap):
        comm = connected(bootstrap)
        memory, rank = native.GpuMemory(comm.device, 4096), comm.rank
        array = lambda at, count: Floats(memory, at, count)
        refused = ""
        try:
            {call}
        except UsageError as error:
            refused = str(error)
        comm.synchronize()
        comm.close()
        return refused

    print(*on_ranks(2, part, 30), sep="|")
    """


def refused(fake_gpus, call: str) -> list[str]:
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(2))
    asked = (sys.executable, "-c", textwrap.dedent(PROGRAM.format(call=call)))
    result = subprocess.run(
        asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.removesuffix("\n").split("|")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("comm.all_reduce(array(0, 64), array(32, 64))", "all_reduce"),
        ("comm.all_gather(array(32 * (1 - rank), 32), array(0, 64))", "all_gather"),
        ("comm.reduce_scatter(array(0, 64), array(32 * (1 - rank), 32))", "reduce_scatter"),
    ],
)
def test_what_overlaps_otherwise_than_in_place_is_refused(fake_gpus, call, name):
    assert refused(fake_gpus, call) == 2 * [f"{name}: source and destination overlap, but not as in place"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("comm.alltoall(array(0, 64), array(32, 64))", "alltoall cannot be run in place"),
        ("comm.alltoallv(array(0, 64), [32] * 2, array(0, 64), [32] * 2)", "alltoallv: source and destination overlap"),
    ],
)
def test_what_does_not_run_in_place_is_refused(fake_gpus, call, words):
    assert refused(fake_gpus, call) == 2 * [words]


@pytest.mark.parametrize(
    "call",
    [
        "comm.all_reduce(array(0, 64), array(0, 64))",
        "comm.all_reduce(array(0, 64), array(64, 64))",
        "comm.all_gather(array(32 * rank, 32), array(0, 64))",
        "comm.reduce_scatter(array(0, 64), array(32 * rank, 32))",
        "comm.alltoallv(array(0, 64), [32] * 2, array(64, 64), [32] * 2)",
    ],
)
def test_what_runs_in_place_or_lies_apart_is_run(fake_gpus, call):
    assert refused(fake_gpus, call) == ["", ""]
