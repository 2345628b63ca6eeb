# SPDX-License-Identifier: Apache-2.0
"""Stacks of random jobs, as py-spy, faulthandler and gdb print them: the one rank that is elsewhere is named alone."""

import random

import pytest
from tests.topo.jobs.hang.reading import scene_of

from railgauge.topo.findings.finding import Level
from railgauge.topo.jobs.hang.model import JobState
from railgauge.topo.jobs.hang.stacks import Stacks
from railgauge.topo.jobs.hang.verdict import verdict

C10D = "torch/distributed/distributed_c10d.py"
COLLECTIVES = {
    "all_reduce": ("all_reduce", "c10d::ProcessGroupNCCL::allreduce_impl", "pncclAllReduce"),
    "all_gather": ("all_gather_into_tensor", "c10d::ProcessGroupNCCL::_allgather_base", "pncclAllGather"),
    "reduce_scatter": ("reduce_scatter_tensor", "c10d::ops::_reduce_scatter_base_", "ncclReduceScatter"),
    "barrier": ("barrier", "c10d::ProcessGroupNCCL::barrier", "MPI_Barrier"),
    "broadcast": ("broadcast_object_list", "c10d::ProcessGroupGloo::broadcast", "PMPI_Bcast"),
    "all_to_all": ("all_to_all_single", "c10d::ProcessGroupNCCL::alltoall_base", "ncclAllToAll"),
    "start": ("new_group", "c10d::NCCLComm::create", "pncclCommInitRankConfig"),
}
"""A call by its names in Python, in PyTorch's C++, and in a library."""
PROGRAM = ("load (data.py:51)", "write (fsspec/spec.py:1900)", "forward (model.py:77)", "collect (trainer/gc.py:12)")
PROGRAM_NATIVE = ("read () from /lib/libc.so.6", "nfs_pread (fd=7) at nfs.c:90", "_PyEval_EvalFrameDefault ()")
SERVICES = (
    "c10d::ProcessGroupNCCL::watchdogHandler()",
    "c10d::ProcessGroupNCCL::Watchdog::runLoop()",
    "c10d::ProcessGroupNCCL::HeartbeatMonitor::runLoop()",
    "c10d::detail::TCPStoreMasterDaemon::run()",
    "c10d::detail::(anonymous namespace)::LibUVStoreDaemon::run()",
    "gloo::transport::tcp::Loop::run()",
    "ncclProxyService(void*)",
    "ncclProxyProgress(void*)",
    "ncclIbAsyncThreadMain(void*)",
    "rasThreadMain(void*)",
    "ibv_get_async_event ()",
    "at::native::worker ()",
)
SERVICES_OF_PYTHON = (
    "wait (threading.py:359)",
    "_worker (concurrent/futures/thread.py:81)",
    "run (tqdm/_monitor.py:60)",
)


def py_spy(rng, rank, frames):
    threads = [
        f'Thread {9000 + at} (idle): "Thread-{at}"\n    {one}\n' for at, one in enumerate(of(rng, SERVICES_OF_PYTHON))
    ]
    main = f'Thread {100 + rank} ({rng.choice(["idle", "active+gil"])}): "MainThread"\n' + "".join(
        f"    {one}\n" for one in frames
    )
    begin = rng.randrange(len(threads) + 1)
    command = rng.choice(["python train.py", "/usr/bin/python3 -u -m pkg.train --lr 1e-3"])
    return f"Process {100 + rank}: {command}\nPython v3.{rng.randrange(8, 14)}.1 (/usr/bin/python)\n\n" + "".join(
        [*threads[:begin], main, *threads[begin:]]
    )


def faulthandler(rng, rank, frames):
    def lines(all_of):
        split = (one.rsplit(" (", 1) for one in all_of)
        return "".join(
            f'  File "/opt/{place[:-1].split(":")[0]}", line {rank + 7} in {name}\n' for name, place in split
        )

    threads = [
        f"Thread 0x00007f{at} (most recent call first):\n{lines([one])}\n"
        for at, one in enumerate(of(rng, SERVICES_OF_PYTHON))
    ]
    begin = rng.choice(["Current thread", "Thread"])
    return "".join(threads) + f"{begin} 0x00007fff (most recent call first):\n{lines(frames)}"


def gdb(rng, rank, frames):
    others = of(rng, SERVICES)
    threads = [
        f'Thread {at} (Thread 0x7f{at} (LWP {500 + at}) "pt_{at}"):\n#0  0x00007f in poll () from /lib/libc.so.6\n'
        f"#1  0x00007f in {one} from /opt/libtorch_cuda.so\n"
        for at, one in reversed(list(enumerate(others, 2)))
    ]
    main = "".join(f"#{at}  0x00007f in {one}\n" for at, one in enumerate(frames))
    return "".join([*threads, f'\nThread 1 (Thread 0x7f00 (LWP {rank}) "python"):\n{main}'])


def of(rng, services):
    return rng.sample(services, rng.randrange(len(services) + 1))


def frames_in(rng, layout, names):
    python, torch, library = names
    if layout is not gdb:
        return [
            f"{python} ({C10D}:{rng.randrange(900, 4000)})",
            "wrapper (torch/distributed/c10d_logger.py:81)",
            "step (train.py:88)",
        ]
    inner = rng.choice([[], ["sched_yield () from /lib/libc.so.6", "ncclGroupEndInternal () from /opt/libnccl.so.2"]])
    call = (
        f"{torch}(at::Tensor&, int) () from /opt/libtorch_cuda.so"
        if torch and rng.random() < 0.5
        else f"{library} (count=4) from /opt/libnccl.so.2"
    )
    return [*inner, call, "_PyEval_EvalFrameDefault () from /usr/bin/python"]


def frames_out(rng, layout):
    return [rng.choice(PROGRAM_NATIVE)] if layout is gdb else [rng.choice(PROGRAM), "step (train.py:80)"]


def job(seed, layout):
    """Stacks of all ranks, and the one that is elsewhere: in the program, or in another collective."""
    rng = random.Random(seed)
    size, calls = rng.randrange(3, 9), rng.sample(sorted(COLLECTIVES), 2)
    culprit = rng.randrange(size)
    other = frames_in(rng, layout, COLLECTIVES[calls[1]]) if rng.random() < 0.3 else frames_out(rng, layout)
    frames = [frames_in(rng, layout, COLLECTIVES[calls[0]]) for _ in range(size)]
    frames[culprit] = other
    return [layout(rng, rank, some) for rank, some in enumerate(frames)], culprit, rng


LAYOUTS = [py_spy, faulthandler, gdb]


def check(scene, culprit):
    judged = verdict(scene)
    (finding,) = [one for one in judged.findings if one.level in (Level.FAIL, Level.WARN)]
    assert (finding.id, finding.level, finding.evidence["ranks"]) == ("rank-elsewhere", Level.FAIL, [culprit])
    assert judged.is_stuck


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_rank_elsewhere_is_named_alone(layout):
    for seed in range(60):
        stacks, culprit, _ = job(seed, layout)
        scene = JobState()
        reader = Stacks(scene)
        for rank, text in enumerate(stacks):
            assert list(reader.beside([text.encode()], f"rank{rank}.txt"))
        check(scene, culprit)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_in_one_file_under_headings_or_prefixes(tmp_path, layout):
    for seed in range(20):
        stacks, culprit, rng = job(seed, layout)
        if layout is py_spy or rng.random() < 0.5:
            text = "".join(f"=== rank {rank} ===\n{stack}" for rank, stack in enumerate(stacks))
        else:
            text = "".join(
                f"[rank{rank}]: {line}\n" for rank, stack in enumerate(stacks) for line in stack.splitlines()
            )
        (tmp_path / "stacks.txt").write_text(text)
        check(scene_of(tmp_path / "stacks.txt"), culprit)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_ranks_in_one_collective_blame_nobody(layout):
    for seed in range(20):
        rng = random.Random(seed)
        scene = JobState()
        names = COLLECTIVES[rng.choice(sorted(COLLECTIVES))]
        for rank in range(4):
            text = layout(rng, rank, frames_in(rng, layout, names))
            assert list(Stacks(scene).beside([text.encode()], f"rank{rank}.txt"))
        assert [(one.id, one.level) for one in verdict(scene).findings] == [("operation-stuck", Level.WARN)]
