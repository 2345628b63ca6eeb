# SPDX-License-Identifier: Apache-2.0
"""What is left of GPUs that are gone or not done when a program lets go of them."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.cli.command import clean_environment
from tests.patience import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]


def told(fake_gpus, program: str, memory: int | None = None, **settings: str) -> str:
    """What a program prints."""
    env = clean_environment(NCCL_SOCKET_IFNAME="lo", **fake_gpus(2, memory=memory), **settings)
    asked = (sys.executable, "-c", textwrap.dedent(program))
    result = subprocess.run(
        asked, cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("result", [4, 709], ids=["driver gone", "context gone"])
def test_a_driver_or_context_that_is_gone_ends_no_program(fake_gpus, result):
    program = f"""
        import gc, os
        from tests.gpu.on_gpu import connected
        from tests.transports.ranks import on_ranks
        from railgauge._native import collectives as native
        from railgauge.collectives.dtype import Dtype
        from railgauge.collectives.gpu_way import KernelLaunch
        from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol

        def part(bootstrap):
            comm = connected(bootstrap)
            source, result = (comm.allocate(256 * size, Dtype.FLOAT) for size in (1, 2))
            comm.choose(Collective.ALL_GATHER, [(1 << 60, KernelLaunch(Algorithm.COPY_ENGINE, Protocol.SIMPLE))])
            comm.all_gather(source, result, async_op=True).wait()
            work = comm.all_reduce(source, async_op=True)
            comm.synchronize()
            return comm, source, result, work, native.GpuPatterns(bootstrap.rank, 5.0)

        kept = on_ranks(2, part, 30)
        link = native.GpuLink(0, 1, 1 << 20, True, 5.0)
        os.environ["FAKE_CUDA_FAULTS"] = "cuCtxPushCurrent_v2={result}"
        del kept, link
        gc.collect()
        print("goes on")
        """
    assert told(fake_gpus, program) == "goes on\n"


def test_a_communicator_that_is_closed_is_asked_no_more(fake_gpus):
    program = """
        from tests.gpu.on_gpu import connected
        from tests.transports.ranks import on_ranks

        def part(bootstrap):
            comm = connected(bootstrap)
            before = len(bootstrap.standings())
            comm.close()
            return before, len(bootstrap.standings())

        print(on_ranks(2, part, 30))
        """
    assert told(fake_gpus, program) == "[(1, 0), (1, 0)]\n"


def test_a_rank_that_stops_waiting_lets_go_of_its_peers_on_other_hosts(fake_gpus):
    """Rank 1 says nothing: rank 0 sees that the connections are closed."""
    program = """
        from tests.gpu.on_gpu import connected
        from tests.patience import FAR_S
        from tests.transports.ranks import on_ranks
        from railgauge.collectives.dtype import Dtype
        from railgauge.topo.errors import RunError

        def part(bootstrap):
            comm = connected(bootstrap, 2)
            array = comm.allocate(256, Dtype.FLOAT)
            bootstrap.barrier()
            if bootstrap.rank == 1:
                bootstrap.abort()
                return bootstrap.wait_for_failure(RunError("nothing"), limit_s=FAR_S)
            try:
                comm.all_reduce(array)
                comm.synchronize()
            except RunError as error:
                return error

        print(*set(map(str, on_ranks(2, part, FAR_S))), sep="\\n")
        """
    assert re.fullmatch(r"rank 0: rank 1 .*(closed the connection|connection broke).*\n", told(fake_gpus, program))


def test_an_operation_that_cannot_start_ends_the_run_for_all(fake_gpus):
    """A peer may be lost at any moment: what the engine raises when it starts is reported, as what it raises later."""
    program = """
        from tests.gpu.on_gpu import connected
        from tests.patience import FAR_S
        from tests.transports.ranks import on_ranks
        from railgauge.collectives.dtype import Dtype
        from railgauge.topo.errors import PeerLostError, RunError

        class Losing:
            def __init__(self, engine):
                self._engine = engine
            def __getattr__(self, name):
                return getattr(self._engine, name)
            def call(self, *asked):
                return False
            def run(self, *asked):
                raise PeerLostError("rank 1 is lost", 1)
            run_parts = run_messages = run

        def part(bootstrap):
            comm = connected(bootstrap)
            array, other = (comm.allocate(2, Dtype.FLOAT) for _ in range(2))
            bootstrap.barrier()
            if bootstrap.rank == 1:
                return bootstrap.wait_for_failure(RunError("nothing"), limit_s=FAR_S)
            comm._engine = Losing(comm._engine)
            try:
                CALL
            except RunError as error:
                return error

        print(*set(map(str, on_ranks(2, part, FAR_S))), sep="\\n")
        """
    for call in ("comm.all_reduce(array)", "comm.alltoallv(array, [1, 1], other, [1, 1])", "comm.send(array, 1)"):
        assert re.fullmatch(r"rank 0: rank 1 is lost.*\n", told(fake_gpus, program.replace("CALL", call))), call


HUNG = """
    import os, threading, time
    from railgauge._native import collectives as native
    from railgauge.topo.errors import RunError

    def hang(device):
        os.environ["FAKE_CUDA_FAULTS"] = "cuLaunchKernel=hang"
        memory = native.GpuMemory(device, 4096)
        try:
            pattern = native.Pattern(2, 7, 0, 1)
            native.GpuPatterns(device, 0.1).fill(pattern, 0, memory.pointer, 512)
        except RunError as error:
            print("not done" if "did not finish within 0.1 s" in str(error) else error)
        del os.environ["FAKE_CUDA_FAULTS"]

    def take(device):
        native.GpuMemory(device, 600 << 20)
    """


def test_a_gpu_that_hangs_leaves_the_memory_of_others_to_be_given_back(fake_gpus):
    program = textwrap.dedent(HUNG) + textwrap.dedent("""
        hang(0)
        for _ in range(3):
            take(1)
        print(native.a_gpu_hangs(), flush=True)
        os._exit(0)
        """)
    assert told(fake_gpus, program, memory=1 << 30) == "not done\nTrue\n"


def test_a_gpu_that_is_done_late_gives_memory_back_again(fake_gpus, tmp_path):
    file = tmp_path / "hang"
    file.touch()
    program = textwrap.dedent(HUNG) + textwrap.dedent("""
        for _ in range(2):
            open(os.environ["FAKE_CUDA_HANG"], "w").close()
            hang(0)
            print(native.a_gpu_hangs())
            os.remove(os.environ["FAKE_CUDA_HANG"])
            while native.a_gpu_hangs():
                time.sleep(0.001)
            for _ in range(3):
                take(0)
        """)
    assert told(fake_gpus, program, memory=1 << 30, FAKE_CUDA_HANG=str(file)) == 2 * "not done\nTrue\n"


def test_a_wait_that_takes_too_long_sees_when_the_gpu_is_done(fake_gpus, tmp_path):
    file = tmp_path / "hang"
    file.touch()
    program = textwrap.dedent(HUNG).split("def hang")[0] + textwrap.dedent("""
        engine = native.GpuEngine(0, 0, [0], (1, 4096, 1, 1), 0.1)
        os.environ["FAKE_CUDA_FAULTS"] = "cuLaunchKernel=hang"
        memory = native.GpuMemory(0, 4096)
        patterns = native.GpuPatterns(0, 60.0)
        fill = lambda: patterns.fill(native.Pattern(2, 7, 0, 1), 0, memory.pointer, 512)
        filling = threading.Thread(target=fill)
        filling.start()
        while True:
            mark = engine.mark(0)
            try:
                engine.wait(mark)
            except RunError:
                break
        print(native.a_gpu_hangs())
        os.remove(os.environ["FAKE_CUDA_HANG"])
        while native.a_gpu_hangs():
            time.sleep(0.001)
        filling.join()
        print("done")
        """)
    assert told(fake_gpus, program, FAKE_CUDA_HANG=str(file)) == "True\ndone\n"


def test_memory_is_freed_while_other_threads_work(fake_gpus, tmp_path):
    """To free it takes until the GPU's kernels have ended, which may wait for what other threads start."""
    file = tmp_path / "hang"
    file.touch()
    program = textwrap.dedent(HUNG).split("def hang")[0] + textwrap.dedent("""
        os.environ["FAKE_CUDA_FAULTS"] = "cuLaunchKernel=hang"
        memory, other = native.GpuMemory(0, 4096), [native.GpuMemory(0, 4096)]
        patterns = native.GpuPatterns(0, 60.0)
        fill = lambda: patterns.fill(native.Pattern(2, 7, 0, 1), 0, memory.pointer, 512)
        threads = [threading.Thread(target=one) for one in (fill, other.pop)]
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        os.remove(os.environ["FAKE_CUDA_HANG"])
        for thread in threads:
            thread.join()
        print("done")
        """)
    assert told(fake_gpus, program, FAKE_CUDA_HANG=str(file)) == "done\n"


LENT = """
    import struct
    from railgauge._native import collectives as native
    from railgauge.topo.errors import Error

    SHM = 3  # Via.SHM
    PLACE, SHARED = slice(24, 32), slice(104, 200)  # Lent (native/gpu/peer_memory.h)
    VIAS = [0, SHM], [SHM, 0]
    engines = [native.GpuEngine(rank, rank, VIAS[rank], (1, 4096, 1, 1), 1.0) for rank in (0, 1)]

    def connect(part, value):
        lent = bytearray(engines[1].lend()[0])
        lent[part] = value
        try:
            engines[0].connect([engines[0].lend()[0], bytes(lent)], [1, 1])
        except Error as error:
            return str(error)
    """


def test_a_place_beyond_what_is_lent_is_refused(fake_gpus):
    program = textwrap.dedent(LENT) + textwrap.dedent("""
        for place in (1 << 20, 1 << 63, (1 << 64) - 128, 64):
            print(connect(PLACE, struct.pack("=Q", place)))
        print(connect(PLACE, bytes(8)))
        """)
    refused = "rank 1 sent an offset outside its shared memory\n"
    assert told(fake_gpus, program) == 4 * refused + "None\n"


def test_a_name_of_shared_memory_has_an_end(fake_gpus):
    program = textwrap.dedent(LENT) + textwrap.dedent("""
        print(connect(SHARED, 96 * b"x"))
        """)
    assert told(fake_gpus, program).count("x") == 95
