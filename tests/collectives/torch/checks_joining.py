# SPDX-License-Identifier: Apache-2.0
"""How ranks join and leave: torch's stores, other back ends beside this one, and that nothing stays behind."""

import contextlib
import io
import os
import runpy
import socket
import threading
import tomllib
import warnings
from datetime import timedelta
from importlib import metadata
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from tests.patience import HANGS_AFTER_S

import railgauge.torch
from railgauge.collectives.torch import job
from railgauge.collectives.torch.group import IS_BACKEND, end_of

LONG = timedelta(seconds=HANGS_AFTER_S)


def port_of_all(place, name):
    """A free port, the same for all ranks."""
    store = dist.FileStore(str(place.folder / name), place.ranks)
    if place.rank == 0:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            store.set("port", str(probe.getsockname()[1]))
    return int(store.get("port"))


def summed(group=None):
    dist.all_reduce(got := torch.ones(1), group=group)
    return int(got.item())


def check_tcp_and_env(place):
    port = port_of_all(place, "tcp-port")
    dist.init_process_group(
        "railgauge", init_method=f"tcp://127.0.0.1:{port}", rank=place.rank, world_size=place.ranks, timeout=LONG
    )
    assert summed() == place.ranks
    dist.destroy_process_group()
    os.environ |= {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port_of_all(place, "env-port")),
        "RANK": str(place.rank),
        "WORLD_SIZE": str(place.ranks),
    }
    dist.init_process_group("railgauge", timeout=LONG)
    assert dist.get_backend() == "railgauge"
    assert summed() == place.ranks
    dist.destroy_process_group()
    os.environ["MASTER_PORT"] = str(port_of_all(place, "example-port"))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path("examples/ddp.py", run_name="__main__")
    assert ("step 19: loss 0." in printed.getvalue()) == (place.rank == 0)


def check_one_store_for_one_group_after_another(place):
    store = dist.FileStore(str(place.folder / "kept"), place.ranks)
    for _ in range(2):
        dist.init_process_group("railgauge", store=store, rank=place.rank, world_size=place.ranks, timeout=LONG)
        assert summed() == place.ranks
        dist.destroy_process_group()


def check_beside_another_back_end(place):
    if not IS_BACKEND or torch.cuda.is_available():  # from torch 2.15 on, NCCL's part is not made without a GPU
        with place.group("beside-nccl", "cpu:railgauge,cuda:nccl"):
            assert summed() == place.ranks
            assert [one.type for one in dist.group.WORLD._device_types] == ["cpu", "cuda"]
    with place.group("beside-gloo", "cpu:gloo,cuda:railgauge"):
        assert summed() == place.ranks
        assert isinstance(dist.group.WORLD._get_backend(torch.device("cpu")), dist.ProcessGroupGloo)
        other = (place.rank + 1) % place.ranks
        work = dist.isend(torch.ones(1), other)
        dist.recv(torch.empty(1), (place.rank - 1) % place.ranks)
        work.wait()
    with place.group("default-gloo", "gloo"):
        group = dist.new_group(backend="railgauge", timeout=LONG)
        assert isinstance(end_of(group), railgauge.torch.TorchGroup)
        assert summed(group) == place.ranks


def check_a_group_that_may_wait_longer_joins_by_itself(place):
    with place.group("longer"):
        assert end_of(dist.new_group(timeout=LONG)).job is end_of(dist.group.WORLD).job
        group = dist.new_group(timeout=2 * LONG)
        assert end_of(group).job is not end_of(dist.group.WORLD).job
        assert summed(group) == place.ranks
        assert summed(dist.new_group([place.rank], timeout=2 * LONG)) == 1  # the same name for different ranks


def left():
    """What a group takes from the system."""
    threads = sorted(one.name for one in threading.enumerate())
    files = sorted(os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink())
    shared = sorted(one.split()[-1] for one in Path("/proc/self/maps").read_text().splitlines() if "/dev/shm" in one)
    return threads, files, shared


def check_nothing_stays_behind(place):
    with place.group("first"):
        pass  # what torch and NumPy load once
    before = left()
    for leave in (dist.destroy_process_group, dist.distributed_c10d._abort_process_group):
        with place.group(f"then-{leave.__name__}", leave=False):
            dist.new_group([0])
            dist.all_reduce(torch.ones(5), async_op=True).get_future().wait()
            dist.isend(torch.ones(1), (place.rank + 1) % place.ranks).wait()
            dist.recv(torch.empty(1), (place.rank - 1) % place.ranks)
            dist.barrier()
            leave()
        after = left()
        assert after == before, (leave, before, after)


def check_a_program_that_ends_without_leaving_is_no_error(place):
    with place.group("forgotten", leave=False), warnings.catch_warnings():
        warnings.simplefilter("error")
        dist.barrier()
        job._leave_at_exit()
        assert not job.OPEN
        dist.destroy_process_group()


def check_what_the_entry_point_names(place):
    named = tomllib.loads(Path("pyproject.toml").read_text())["project"]["entry-points"]["torch.distributed.backends"]
    assert list(named) == ["railgauge"]
    assert metadata.EntryPoint("railgauge", named["railgauge"], "").load() is railgauge.torch.register


def check_options_are_refused(place):
    with place.group("options"), pytest.raises(ValueError, match="pg_options='fast': this back end has none"):
        dist.new_group(pg_options="fast")
