# SPDX-License-Identifier: Apache-2.0
"""Runs under torchrun and torch.distributed.launch, whose agents hold the store, on this host and on two."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.cli.command import clean_environment, command
from tests.collectives.launch.peers import launch, on_path, peer, pids_with
from tests.hosts.netns import make_hosts
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.launch import torchrun
from railgauge.collectives.launch.hostfile import Host
from railgauge.collectives.launch.launch import Launch
from railgauge.topo.errors import UsageError

SMALL = command("run", "all_reduce", "-b", "1K", "-e", "2K", "-f", "2", "-n", "2", "--timeout", "120", "--json")
QUIET = {"OMP_NUM_THREADS": "1"}


def document(result, status=0):
    assert result.returncode == status, result.stderr
    return json.loads(result.stdout)


def test_ranks_of_torchrun():
    got = document(
        launch(peer("torch", "torchrun"), "--standalone", "--nproc-per-node", "2", "--no-python", *SMALL, **QUIET)
    )
    assert (got["status"], got["ranks"], got["nodes"]) == ("ok", 2, 1)


def test_ranks_of_torch_distributed_launch():
    started = (peer("torch", "python"), "-m", "torch.distributed.launch", "--standalone", "--nproc-per-node", "2")
    got = document(launch(*started, "--use-env", "--no-python", *SMALL, "-g", "2", **QUIET))
    assert (got["status"], got["ranks"], got["nodes"]) == ("ok", 4, 1)


@pytest.mark.parametrize("backend", ["static", "c10d"])
def test_a_torchrun_on_each_of_two_hosts(backend):
    torch = peer("torch", "torchrun")
    with make_hosts(2) as hosts:
        meet = {
            "static": ["--master-addr", hosts.addresses[0], "--master-port", "29511"],
            "c10d": ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{hosts.addresses[0]}:29511", "--rdzv-id", "7"],
        }[backend]
        ends = [
            hosts.start(
                host,
                [
                    torch,
                    "--nnodes",
                    "2",
                    "--node-rank",
                    str(host),
                    "--nproc-per-node",
                    "2",
                    *meet,
                    "--no-python",
                    *SMALL,
                ],
                env=clean_environment(**QUIET),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for host in range(2)
        ]
        told = [end.communicate(timeout=HANGS_AFTER_S) for end in ends]
    assert [end.returncode for end in ends] == [0, 0], told[0][1] + told[1][1]
    got = json.loads("".join(out for out, _ in told))  # c10d numbers the hosts as it likes
    assert (got["status"], got["ranks"], got["nodes"]) == ("ok", 4, 2)
    assert {c["via"].split("/")[0] for c in got["connections"]} == {"SHM", "NET"}


def test_railgauge_launches_and_shows_the_command():
    path = on_path(peer("torch", "torchrun"))
    options = ("--launcher", "torchrun", "--ranks", "2")
    shown = launch(*SMALL, *options, "-x", "NCCL_DEBUG=WARN", "--dry-run", PATH=path, RAILGAUGE_SECRET="5ec4e7" * 8)
    assert "5ec4e7" not in shown.stdout
    assert "NCCL_DEBUG=WARN" in shown.stdout
    words = shlex.split(shown.stdout)
    assert words[words.index("--nproc-per-node") + 1] == "2"
    assert document(launch(*words, PATH=path, **QUIET))["ranks"] == 2
    assert document(launch(*SMALL, *options, PATH=path, **QUIET))["command"] == [*SMALL[SMALL.index("run") :], *options]


def test_a_killed_rank_ends_the_job_and_nothing_is_left():
    mark = f"60.{time.monotonic_ns()}"
    long_run = command("run", "all_reduce", "-b", "8", "-e", "8", "-N", "0", "--timeout", mark)
    with subprocess.Popen(
        [*long_run, "--launcher", "torchrun", "--ranks", "2"],
        env=clean_environment(PATH=on_path(peer("torch", "torchrun")), **QUIET),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as launcher:
        while "float" not in launcher.stdout.readline():
            assert launcher.poll() is None
        rank = next(pid for pid in pids_with(mark) if b"LOCAL_RANK=1\0" in Path(f"/proc/{pid}/environ").read_bytes())
        os.kill(rank, signal.SIGKILL)
        launcher.communicate(timeout=HANGS_AFTER_S)
    assert launcher.returncode == 4
    assert not pids_with(mark)


def test_several_hosts_have_a_command_each(monkeypatch):
    monkeypatch.setenv("PATH", on_path(peer("torch", "torchrun")))
    monkeypatch.delenv("MASTER_PORT", raising=False)
    asked = Launch(argv=["run"], processes=4, hosts=[Host("gpu-01", 2), Host("gpu-02", 2)])
    first, second = torchrun.commands(asked)
    assert first[first.index("--node-rank") + 1] == "0"
    assert second[second.index("--node-rank") + 1] == "1"
    assert "gpu-01" in second
    with pytest.raises(UsageError, match="run on each host the command that --dry-run prints"):
        torchrun.start(asked)
    with pytest.raises(UsageError, match="the same slots"):
        torchrun.commands(Launch(argv=["run"], processes=3, hosts=[Host("gpu-01", 2), Host("gpu-02", 1)]))
