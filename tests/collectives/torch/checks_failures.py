# SPDX-License-Identifier: Apache-2.0
"""What is wrong is named: calls that cannot be, ranks that do not come, differ or end, results that differ."""

import os
import pickle
import threading
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from tests.cli.command import in_process
from tests.patience import FAR_S

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.torch.group import IS_BACKEND, end_of
from railgauge.collectives.torch.result_check import ResultCheck, deviating_ranks
from railgauge.topo.errors import UsageError

SHORT_S = 3.0


def says(expected, call, kind=dist.DistBackendError):
    with pytest.raises(kind, match=expected):
        call()


def check_invalid_calls(place):
    n = place.ranks
    ones = torch.ones(2 * n)
    with place.group("invalid"):
        world = dist.group.WORLD
        for call, expected in (
            (lambda: dist.all_reduce(torch.ones(4, 4)[:, :2]), r"shape \(4, 2\) with strides \(4, 1\) is not contig"),
            (lambda: dist.all_reduce(torch.ones(2).to_sparse()), "a sparse tensor"),
            (lambda: dist.all_reduce(torch.ones(2).to(torch.float8_e4m3fnuz)), "float8_e4m3fnuz cannot be reduced"),
            (lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.BOR), "bor"),
            (lambda: dist.all_gather_into_tensor(torch.empty(3), ones), "all_gather_base: .*elements"),
            (lambda: dist.all_gather_into_tensor(torch.empty(2 * n, n).t(), ones), "an output .* is not contiguous"),
            (lambda: world.allgather([[ones]], [ones]), f"list of 1 tensors: expected one for each of {n} ranks"),
            (lambda: dist.all_to_all_single(ones, ones, [2 * n], [2 * n]), rf"split sizes \[{2 * n}\]: expected one"),
            (lambda: dist.send(torch.ones(4, 4)[:, :2], (place.rank + 1) % n), "send .* is not contiguous"),
            (lambda: world.send([ones, ones], 0, 0), "2 tensors: expected one"),
        ):
            says(expected, call, ValueError)
        if not IS_BACKEND:  # from torch 2.15 on, it takes these itself
            says("no back end for tensors on meta", lambda: dist.all_reduce(ones.to("meta")), ValueError)
        dist.barrier()  # the group goes on
        part = dist.new_group()
        dist.all_reduce(ones, group=part)
        end_of(part).setGroupName("other")
        sparse = torch.ones(2).to_sparse()
        says("of group other: all_reduce: a sparse", lambda: dist.all_reduce(sparse, group=part), ValueError)
        dist.destroy_process_group(part)
        says("all_reduce: the group was destroyed", lambda: part.allreduce([ones]), ValueError)


def check_settings(place):
    for text in ("every:0", "each:3", "3"):
        expected = f"RAILGAUGE_VERIFY='{text}': expected every:N"
        says(expected, lambda text=text: ResultCheck({"RAILGAUGE_VERIFY": text}), UsageError)
    assert deviating_ranks([b"a", b"a", b"b"]) == "rank 2 has other bytes than the 2 ranks that agree"
    assert "no majority" in deviating_ranks([b"a", b"b"])


def check_a_rank_that_does_not_come_is_named_within_the_timeout(place):
    last = place.ranks - 1
    with place.group("late", timeout_s=FAR_S, leave=False):
        group = dist.new_group(timeout=timedelta(seconds=SHORT_S))
        if place.rank != last:
            says(
                rf"rank {place.rank} of group \w+: all_reduce.*rank {last} did not take part",
                lambda: dist.all_reduce(torch.ones(1), group=group),
            )
        else:
            end_of(dist.group.WORLD).job.process_group._bootstrap._failed.wait(FAR_S)
            says(f"barrier: rank {last} did not take part", dist.barrier)
        dist.distributed_c10d._abort_process_group()


def check_a_message_that_does_not_come(place):
    with place.group("no-message", timeout_s=FAR_S, leave=False):
        group = dist.new_group(timeout=timedelta(seconds=SHORT_S))
        if place.rank == 0:
            got = torch.empty(1)
            says("rank 0 of group .*: recv 0<-1: timeout after 3 s", lambda: dist.irecv(got, 1, group=group).wait())
        else:
            end_of(dist.group.WORLD).job.process_group._bootstrap._failed.wait(FAR_S)
        dist.distributed_c10d._abort_process_group()


def check_a_wait_may_be_shorter(place):
    with place.group("short-wait"):
        if place.rank == 0:
            work = dist.barrier(async_op=True)
            says("still running", lambda: work.wait(timedelta(seconds=0.01)))
            dist.group.WORLD.get_group_store().set("go", "1")
            work.wait()
        else:
            dist.group.WORLD.get_group_store().wait(["go"])
            dist.barrier()


def check_ranks_that_differ_and_their_record(place):
    os.environ["RAILGAUGE_RECORD"] = str(place.folder / "records")
    with place.group("differ", leave=False):
        del os.environ["RAILGAUGE_RECORD"]
        dist.all_reduce(torch.ones(4))
        count = 8 if place.rank == 1 else 4
        says("counts differ|ranks diverge", lambda: dist.all_reduce(torch.ones(count)))
        dist.distributed_c10d._abort_process_group()
    record = pickle.loads((place.folder / f"records/railgauge_rank_{place.rank}").read_bytes())
    assert [one["state"] for one in record["entries"]] == ["completed", "started"]
    assert record["entries"][1]["input_sizes"] == [[count]]
    store = dist.FileStore(str(place.folder / "written"), place.ranks)
    store.set(str(place.rank), "1")
    if place.rank == 0:
        store.wait(list(map(str, range(place.ranks))))
        found = in_process("log", "hang", str(place.folder / "records"))
        assert found.returncode == 1, found.stderr
        assert "FAIL operation-mismatch" in found.stdout
        assert "rank 1 called all_reduce of 8 Float; ranks 0,2 called all_reduce of 4 Float" in found.stdout


def check_a_result_that_differs_names_its_rank(place):
    os.environ["RAILGAUGE_VERIFY"] = "every:2"
    with place.group("verify", leave=False):
        del os.environ["RAILGAUGE_VERIFY"]
        dist.all_reduce(torch.ones(4))
        dist.barrier()
        dist.all_reduce(torch.ones(4))
        assert end_of(dist.group.WORLD)._ends.host._check.checked == 1
        dist.all_reduce(torch.ones(4))
        good = Communicator.all_reduce
        if place.rank == 1:
            Communicator.all_reduce = lambda self, array, **how: (good(self, array, **how), array.fill(5))
        says(
            "RAILGAUGE_VERIFY: the result differs between ranks: rank 1 has other bytes than the 2 ranks that agree",
            lambda: dist.all_reduce(torch.ones(4)),
        )
        Communicator.all_reduce = good
        dist.distributed_c10d._abort_process_group()


def check_abort_ends_what_waits(place):
    with place.group("abort", timeout_s=FAR_S, leave=False):
        if place.rank == 0:
            world = dist.group.WORLD
            aborting = threading.Timer(0.2, world.abort)
            aborting.start()
            says("rank 0.*abort", lambda: dist.all_reduce(torch.ones(1)))
            aborting.join()
        else:
            says("rank 0 aborted group 0", lambda: dist.recv(torch.ones(1), 0))
        dist.distributed_c10d._abort_process_group()


def check_a_rank_that_ends(place):
    with place.group("ends", timeout_s=FAR_S, leave=False):
        if place.rank == 1:
            os._exit(0)
        says("broadcast: rank 1 on .* is gone", lambda: dist.broadcast(torch.ones(100_000), 1))
        says("rank 1 on .* is gone", lambda: dist.send(torch.ones(100_000), 1))
        dist.distributed_c10d._abort_process_group()
