# SPDX-License-Identifier: Apache-2.0
"""Stacks of py-spy, gdb and faulthandler: the process that is not in the operation that the others wait in is named."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.topo.jobs.hang.reading import dump, found, message, scene_of, up_to, write_dumps

from railgauge.topo.jobs.hang.model import JobState
from railgauge.topo.jobs.hang.stacks import Stacks
from railgauge.topo.jobs.hang.verdict import verdict

PY_SPY = """Process {pid}: /usr/bin/python train.py
Python v3.10.12 (/usr/bin/python3.10)

Thread {pid} (idle): "MainThread"
{frames}
    <module> (train.py:120)
Thread 77 (idle): "Thread-1 (_pin_memory_loop)"
    wait (threading.py:324)
    _bootstrap (threading.py:973)
"""
FAULT = """Timeout (0:05:00)!
Thread 0x00007f0a1 (most recent call first):
  File "/usr/lib/python3.10/threading.py", line 324 in wait

Thread 0x00007f0b2 (most recent call first):
{frames}
  File "/app/train.py", line 120 in <module>
"""
GDB = """Attaching to process {pid}
Thread 2 (Thread 0x7f01 (LWP 1210) "pt_nccl_watchdg"):
#0  0x00007f0 in clock_nanosleep () from /lib/libc.so.6
#1  0x00007f1 in c10d::ProcessGroupNCCL::watchdogHandler() () from /opt/libtorch_cuda.so

Thread 1 (Thread 0x7f00 (LWP {pid}) "python"):
{frames}
"""
IN = {
    PY_SPY: "    all_reduce (torch/distributed/distributed_c10d.py:2050)\n"
    "    wrapper (torch/distributed/c10d_logger.py:75)\n"
    "    step (train.py:88)",
    FAULT: '  File "/opt/torch/distributed/distributed_c10d.py", line 2050 in all_reduce\n'
    '  File "/app/train.py", line 88 in step',
    GDB: "#0  0x00007f in sched_yield () from /lib/libc.so.6\n"
    "#1  0x00007f in ncclGroupEndInternal () from /opt/libnccl.so.2\n"
    "#2  0x00007f in pncclAllReduce (sendbuff=0x0, count=4) from /opt/libnccl.so.2",
}
OUT = {
    PY_SPY: "    load (data.py:51)\n    step (train.py:80)",
    FAULT: '  File "/app/data.py", line 51 in load\n  File "/app/train.py", line 80 in step',
    GDB: "#0  0x00007f in read () from /lib/libc.so.6\n#1  load (file=7) at data.cc:51",
}
NAMES = {PY_SPY: "py-spy", FAULT: "faulthandler", GDB: "gdb"}


def stack(layout, rank, *, inside=True):
    return layout.format(pid=1000 + rank, frames=(IN if inside else OUT)[layout])


@pytest.mark.parametrize("layout", NAMES, ids=NAMES.get)
def test_the_rank_that_is_elsewhere_is_named(tmp_path, layout):
    for rank in range(4):
        (tmp_path / f"stack_rank{rank}.txt").write_text(stack(layout, rank, inside=rank != 2))
    scene = scene_of(tmp_path)
    assert found(scene) == [("rank-elsewhere", "FAIL")]
    assert verdict(scene).findings[0].evidence["ranks"] == [2]
    assert message(scene).startswith("rank 2 is in ")
    assert "ranks 0-1,3 are in all_reduce" in message(scene)


@pytest.mark.parametrize("heading", ["=== rank {} ===", "# Rank {}:", "--- py-spy dump of rank {} ---", "rank={}"])
def test_many_processes_in_one_file_under_headings(tmp_path, heading):
    parts = [f"{heading.format(rank)}\n{stack(PY_SPY, rank, inside=rank != 2)}" for rank in range(4)]
    (tmp_path / "stacks.txt").write_text("".join(parts))
    assert verdict(scene_of(tmp_path)).findings[0].evidence["ranks"] == [2]


def test_lines_with_the_ranks_prefix_may_be_mixed(tmp_path):
    each = [
        [f"[rank{rank}]: {line}" for line in stack(FAULT, rank, inside=rank != 1).splitlines()] for rank in range(3)
    ]
    (tmp_path / "log").write_text("\n".join(line for lines in zip(*each, strict=True) for line in lines))
    assert verdict(scene_of(tmp_path)).findings[0].evidence["ranks"] == [1]


def test_the_rank_in_a_command_line(tmp_path):
    parts = [
        stack(PY_SPY, rank, inside=rank != 2).replace("train.py\n", f"train.py --local-rank={rank}\n", 1)
        for rank in (0, 2)
    ]
    (tmp_path / "stacks.txt").write_text("".join(parts))
    assert verdict(scene_of(tmp_path)).findings[0].evidence["ranks"] == [2]


def test_processes_of_unknown_rank_are_named_by_their_number(tmp_path):
    (tmp_path / "stacks.txt").write_text(stack(PY_SPY, 0) + stack(PY_SPY, 1, inside=False))
    assert message(scene_of(tmp_path)).startswith(
        "process 1001 is in load (data.py:51), while process 1000 is in all_red"
    )


def test_processes_in_the_same_place_are_written_together(tmp_path):
    """As people sort the output of py-spy of a node: the heads first, then the stack of all."""
    head = 'Thread {} (idle): "MainThread"\n'
    text = (
        f"4 in:\n\n{''.join(map(head.format, range(10, 14)))}{IN[PY_SPY]}\n\n1 in:\n\n{head.format(14)}{OUT[PY_SPY]}\n"
    )
    (tmp_path / "node.txt").write_text(text + f"2 in:\n{head.format(15)}{head.format(16)}{IN[PY_SPY]}\n")
    scene = scene_of(tmp_path)
    assert [one.label for one in scene.stacks] == [f"process {pid}" for pid in range(10, 17)]
    assert found(scene) == [("rank-elsewhere", "FAIL")]
    assert message(scene).startswith(
        "process 14 is in load (data.py:51), while process 10, process 11, process 12 and 3"
    )


def test_a_head_without_a_stack_at_the_end_is_no_process(tmp_path):
    head = 'Thread {} (idle): "MainThread"\n'
    (tmp_path / "node.txt").write_text(f"{head.format(10)}{IN[PY_SPY]}\n{head.format(11)}{head.format(12)}")
    assert [one.label for one in scene_of(tmp_path).stacks] == ["process 10"]


def test_all_in_one_call(tmp_path):
    (tmp_path / "stacks.txt").write_text("".join(stack(PY_SPY, rank) for rank in range(3)))
    scene = scene_of(tmp_path)
    assert found(scene) == [("operation-stuck", "WARN")]
    assert "all_reduce, called in step (train.py:88)" in message(scene)


def test_two_collectives(tmp_path):
    (tmp_path / "stacks.txt").write_text(stack(PY_SPY, 0) + stack(PY_SPY, 1).replace("all_reduce", "broadcast"))
    assert found(scene_of(tmp_path)) == [("rank-elsewhere", "FAIL")]


def test_one_stack_alone_does_not_tell(tmp_path):
    (tmp_path / "stacks.txt").write_text(stack(PY_SPY, 0))
    scene = scene_of(tmp_path)
    assert found(scene) == [("evidence-short", "UNKNOWN")]
    assert verdict(scene).is_stuck


def test_a_collective_in_another_thread_counts(tmp_path):
    """DistributedDataParallel reduces in the thread of backward()."""
    text = PY_SPY.format(pid=7, frames="    backward (torch/autograd/__init__.py:266)")
    text += 'Thread 78 (idle): "Dummy-5"\n' + IN[PY_SPY] + "\n"
    (tmp_path / "stacks.txt").write_text(text + stack(PY_SPY, 8))
    assert found(scene_of(tmp_path)) == [("operation-stuck", "WARN")]


def test_a_rank_that_waits_for_its_gpu_is_not_elsewhere(tmp_path):
    waits = stack(PY_SPY, 8).replace(
        "all_reduce (torch/distributed/distributed_c10d.py:2050)", "synchronize (torch/cuda/__init__.py:9)"
    )
    waits = waits.replace("    wrapper (torch/distributed/c10d_logger.py:75)\n", "")
    (tmp_path / "stacks.txt").write_text(stack(PY_SPY, 7) + waits)
    assert "rank-elsewhere" not in dict(found(scene_of(tmp_path)))


def test_nccl_tests_ask_their_stream_again_and_again(tmp_path):
    """Its loop is in libc's clock most of the time; the call that waits is further out."""
    text = "Thread 1 (Thread 0x7f63 (LWP 87)):\n#0  0x00007ffe5a7d0b42 in clock_gettime ()\n"
    text += "#1  0x00000000004a0120 in cudaStreamQuery ()\n#2  0x0000000000403b52 in main (argc=9) at common.cu:390\n"
    (tmp_path / "rank0.txt").write_text(text)
    (one,) = scene_of(tmp_path).stacks
    assert (one.waits, one.at) == (True, "cudaStreamQuery")


def test_a_stack_beside_a_flight_record_says_where_the_rank_is(tmp_path):
    write_dumps(tmp_path, {rank: dump(up_to(43, waits=41)) for rank in range(7)} | {7: dump(up_to(40))})
    (tmp_path / "stack_rank7.txt").write_text(stack(PY_SPY, 7, inside=False))
    assert message(scene_of(tmp_path)).endswith("by its stack rank 7 is in load (data.py:51)")


def test_a_log_without_stacks_has_none(tmp_path):
    (tmp_path / "log").write_text("#0 of the list\nrank 3: loss 2.3\n#1 next\nProcess 3: done\n" + stack(PY_SPY, 1))
    assert [one.label for one in scene_of(tmp_path).stacks] == ["process 1001"]


def test_a_log_without_end_of_one_stack_is_bounded(tmp_path):
    lines = b"".join(b'[rank%d]:   File "x.py", line 1 in f\n' % (rank % 4) for rank in range(4096))
    head = b"".join(b"[rank%d]: Thread 0x7f (most recent call first):\n" % rank for rank in range(4))
    stacks = Stacks(scene := JobState())
    for _ in stacks.beside([head, *[lines] * 4], "log"):
        pass
    assert len(scene.stacks) == 4
    assert stacks._open == 0


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_whatever_is_damaged(data):
    text = "".join(f"rank {rank}\n{stack(layout, rank)}" for rank, layout in enumerate(NAMES))
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 300)))
    noise = data.draw(st.binary(max_size=20) | st.sampled_from([b"(" * 500, b"#0 " * 99, b'Thread 1 (idle): "']))
    scene = JobState()
    blocks = [text[:begin].encode(), noise, text[end:].encode()]
    assert b"".join(Stacks(scene).beside(blocks, "stacks")) == b"".join(blocks)
    assert verdict(scene).text


def test_the_thread_that_starts_a_communicator_counts(tmp_path):
    frames = (
        "__libc_accept (fd=30)",
        "bootstrapInit (rank=0)",
        "ncclCommInitRankSync (nranks=2)",
        "ncclAsyncThreadMain ()",
    )
    text = "\n".join(f"#{at}  0x00007f in {frame} at init.cc:5" for at, frame in enumerate(frames))
    (tmp_path / "stacks.txt").write_text(GDB.format(pid=7, frames=text))
    scene = scene_of(tmp_path)
    assert "in the start of a communicator" in message(scene)
    assert verdict(scene).is_stuck


def test_an_engine_and_its_worker_that_wait_in_their_queue_are_stuck():
    frames = (
        "    poll (zmq/sugar/poll.py:106)\n    dequeue (vllm/distributed/device_communicators/shm_broadcast.py:794)"
    )
    scene = JobState()
    for pid in (1, 2):
        list(Stacks(scene).beside([PY_SPY.format(pid=pid, frames=frames).encode()], "x"))
    assert verdict(scene).is_stuck
    assert "the queue between an engine and its workers" in verdict(scene).text


def test_a_process_that_aborts_its_communicator_is_named_so():
    frames = (
        "#0  0x00007ff0 in syscall () from /lib64/libc.so.6\n"
        "#1  0x00007fef in c10d::ProcessGroupNCCL::waitForFutureOrTimeout() at ProcessGroupNCCL.cpp:1201\n"
        "#2  0x00007fef in c10d::ProcessGroupNCCL::abort() at ProcessGroupNCCL.cpp:1230\n"
        "#3  0x00007fef in ncclCommAbort() at init.cc:2100"
    )
    scene = state_of(GDB.format(pid=9, frames=frames))
    assert "the abort of a communicator" in verdict(scene).text


def test_a_process_in_a_collective_of_oneccl_is_in_it():
    (stack,) = stacks_of(
        "#0  0x00007ff0 in ccl_executor::wait(x*) () from /opt/libccl.so.1\n"
        "#1  0x00007fef in ccl_coll_create(ccl_coll_param&) () from /opt/libccl.so.1\n"
        "#2  0x00007fef in ccl_allreduce_impl(void const*, void*) () from /opt/libccl.so.1\n"
    )
    assert stack.operation == "all_reduce"


def state_of(text):
    scene = JobState()
    list(Stacks(scene).beside([text.encode()], "x"))
    return scene


def stacks_of(text):
    return state_of(text).stacks


def test_a_thread_that_waits_for_data_is_in_its_loader():
    frames = (
        "    wait (threading.py:359)\n    get (queue.py:180)\n    _try_get_data (torch/utils/data/dataloader.py:1310)\n"
        "    step (train.py:88)"
    )
    (stack,) = stacks_of(PY_SPY.format(pid=7, frames=frames))
    assert (stack.at, stack.operation) == ("_try_get_data (dataloader.py:1310)", "")


def test_threads_without_a_name_and_frames_after_tabs():
    (stack,) = stacks_of("Thread 0x7F4AACDE7700 (active)\n\t _get_next_task (ray/worker.py:988)\n")
    assert stack.at == "_get_next_task (worker.py:988)"


def test_a_process_that_waits_for_its_gpu_is_stuck_and_its_wait_is_named():
    frames = (
        "#0  0x00007ff0 in clock_gettime ()\n"
        "#1  0x00007fef in __GI___clock_gettime (clock_id=4) at ../sysdeps/unix/clock_gettime.c:115\n"
        "#2  0x00007fef in ?? () from /usr/lib64/libcuda.so.1\n"
        "#3  0x00007fef in cuStreamSynchronize () from /usr/lib64/libcuda.so.1"
    )
    scene = state_of(GDB.format(pid=9, frames=frames))
    assert verdict(scene).is_stuck
    assert "is in cuStreamSynchronize" in verdict(scene).text


def lone(text):
    scene = JobState()
    for _ in Stacks(scene).beside([text.encode()], "stack.txt"):
        pass
    return verdict(scene)


def test_a_frame_without_a_symbol_is_not_where_a_process_is():
    unknown, known = "in ?? () from /lib64/libcuda.so.1", "in cudaMemcpyAsync () from /opt/libcudart.so"
    found = lone(f"#0  0x000014cd {unknown}\n#1  0x000014ce {known}\n")
    assert found.text.startswith("stack.txt is in cudaMemcpyAsync (libcudart.so)")
    assert found.is_stuck


def test_threads_of_a_library_do_not_stand_for_the_process():
    frames = "#0  0x7f in poll () from /lib/libc.so.6\n#1  0x7f in ncclProxyService () at proxy.cc:1437\n"
    found = lone(f'Thread 9 (Thread 0x7f53 (LWP 50) "python"):\n{frames}')
    assert "the main thread is not in the file" in found.text


def test_an_exception_thrown_while_a_communicator_starts():
    frames = (
        "[rank10]: frame #8: c10d::ProcessGroupNCCL::broadcastUniqueNCCLID(ncclUniqueId*, bool) + 0xaf (0x7f in x.so)\n"
        "[rank10]: frame #9: c10d::ProcessGroupNCCL::allreduce_impl(at::Tensor&) + 0x10 (0x7f in x.so)\n"
    )
    found = lone(frames)
    assert found.text.startswith("rank 10 is in the start of a communicator")
    assert found.is_stuck


def test_an_exception_of_the_watchdog_is_no_call():
    frames = "[rank1]: frame #2: c10d::ProcessGroupNCCL::watchdogHandler() + 0x1 (0x7f in x.so)\n"
    assert not lone(frames).findings


def test_a_main_thread_without_a_number_and_a_library_that_waits_are_read():
    frames = "    poll (zmq/poll.py:106)\n    dequeue (vllm/shm_broadcast.py:779)\n    busy_loop (vllm/executor.py:9)\n"
    found = lone(f'Process 8: VLLM::Worker_TP0\nThread (idle) "MainThread"\n{frames}')
    assert found.text.startswith("process 8 is in the queue between an engine and its workers, called in busy_loop")


def test_a_stack_in_a_comment_with_remarks():
    frames = "    join (threading.py:1149)\n    close (lmcache/connector.py:658)      <- stuck here forever\n"
    text = f'Process 8: python run.py\nThread 8 (idle): "MainThread"\n{frames}'
    quoted = "".join(f"        # {line}\n" for line in text.splitlines())
    assert {lone(one).text.split(";")[0] for one in (text, quoted)} == {"process 8 is in close (connector.py:658)"}


def test_the_process_that_a_test_of_pytorch_gave_up_on():
    stack = 'Thread 0x7f (most recent call first):\n  File "torch/distributed/distributed_c10d.py", line 2 in barrier\n'
    assert lone(f"Process 3 timed out with traceback:\n{stack}").text.startswith("process 3 is in barrier")
