# SPDX-License-Identifier: Apache-2.0
"""The srun launcher, and ranks that srun starts, with a real Slurm on two hosts."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hosts.netns import make_hosts
from tests.hosts.slurm import slurm_on
from tests.hosts.waiting import until
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.launch import srun
from railgauge.collectives.launch.hostfile import parse_hostfile
from railgauge.collectives.launch.launch import Launch
from railgauge.topo.errors import UsageError

RAILGAUGE = [sys.executable, "-P", "-m", "railgauge"]
RUN = [*RAILGAUGE, "run", "all_reduce", "-b", "8", "-e", "64", "-f", "2"]
FOREVER = ["-N", "0", "-n", "1", "-T", "60"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slurm")
    with make_hosts(2) as hosts, slurm_on(hosts, folder) as environ:
        yield hosts, environ


def railgauge_processes(hosts):
    found = []
    for pid in [*hosts.pids(0), *hosts.pids(1)]:
        with contextlib.suppress(OSError):
            if b"railgauge" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def on(stdout):
    """The host of each rank, as the table has it."""
    return [line.split()[8] for line in stdout.splitlines() if line.startswith("#  Rank")]


def test_a_run_fills_the_nodes_as_the_hostfile_says(cluster, tmp_path):
    hosts, environ = cluster
    hostfile = tmp_path / "mpi_hosts"
    hostfile.write_text("10.77.0.1 rg-node1 slots=2\nrg-node2:1\n")
    ran = hosts.run(0, [*RUN, "--launcher", "srun", "--hostfile", str(hostfile)], env=environ)
    assert ran.returncode == 0, ran.stderr
    assert on(ran.stdout) == ["rg-node1", "rg-node1", "rg-node2"]
    assert "# Out of bounds values : 0 OK" in ran.stdout


def test_a_run_without_hosts_leaves_them_to_slurm(cluster):
    hosts, environ = cluster
    ran = hosts.run(0, [*RUN, "--launcher", "srun", "--ranks", "3", "--json"], env=environ)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert (document["ranks"], document["status"]) == (3, "ok")
    assert document["command"][-5:] == ["--launcher", "srun", "--ranks", "3", "--json"]


def test_tasks_that_srun_starts_are_the_ranks_of_one_job(cluster):
    hosts, environ = cluster
    ran = hosts.run(0, ["srun", "-N2", "-n2", "--mpi=none", *RUN, "-g", "2"], env=environ)
    assert ran.returncode == 0, ran.stderr
    assert on(ran.stdout) == ["rg-node1", "rg-node1", "rg-node2", "rg-node2"]


def test_in_an_allocation_there_are_as_many_processes_as_it_is_for(cluster):
    hosts, environ = cluster
    ran = hosts.run(0, ["salloc", "-N2", "-n2", *RUN, "--launcher", "srun"], env=environ)
    assert ran.returncode == 0, ran.stderr
    assert on(ran.stdout) == ["rg-node1", "rg-node2"]


def test_dry_run_prints_the_srun_that_would_run_and_no_secret(cluster):
    hosts, environ = cluster
    asked = ["--launcher", "srun", "--hosts", "rg-node2:2", "-x", "NCCL_DEBUG=WARN", "--dry-run"]
    ran = hosts.run(0, [*RUN, *asked], env=environ | {"RAILGAUGE_SECRET": "not-to-be-seen-here"})
    assert ran.returncode == 0, ran.stderr
    words = ran.stdout.split()
    assert words[0].endswith("/srun")
    assert {"--ntasks=2", "--nodelist=rg-node2,rg-node2", "--export=ALL,NCCL_DEBUG=WARN"} < set(words)
    assert words[-len(RUN) :] == RUN
    assert "not-to-be-seen-here" not in ran.stdout + ran.stderr
    pasted = hosts.run(0, ["sh", "-c", ran.stdout], env=environ)
    assert pasted.returncode == 0, pasted.stderr
    assert on(pasted.stdout) == ["rg-node2", "rg-node2"]


def test_the_only_task_of_a_step_may_start_ranks_but_one_of_several_may_not(cluster):
    hosts, environ = cluster
    ran = hosts.run(0, ["srun", "-n1", "--mpi=none", *RUN, "--ranks", "2", "--json"], env=environ)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["ranks"] == 2
    ran = hosts.run(0, ["srun", "-n2", "--mpi=none", *RUN, "-xA=1"], env=environ)
    assert "srun started 2 processes of 1 ranks each; a rank cannot start ranks" in ran.stderr


def test_what_srun_refuses_is_told_in_its_words(cluster):
    hosts, environ = cluster
    ran = hosts.run(0, [*RUN, "--launcher", "srun", "--hosts", "rg-node9:2"], env=environ)
    assert ran.returncode not in (0, 1)
    assert "Invalid node name" in ran.stderr
    assert "srun ended with status" in ran.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_when_the_launcher_is_told_to_end_nothing_is_left(cluster, number):
    launcher = running(cluster)
    launcher.send_signal(number)
    launcher.communicate(timeout=HANGS_AFTER_S)
    until(lambda: not railgauge_processes(cluster[0]))


def test_a_rank_that_is_killed_ends_the_job_and_its_host_is_named(cluster):
    hosts, _ = cluster
    launcher = running(cluster)
    rank = next(pid for pid in railgauge_processes(hosts) if pid in hosts.pids(1) and has_task(pid))
    os.kill(rank, signal.SIGKILL)
    _, errors = launcher.communicate(timeout=HANGS_AFTER_S)
    assert launcher.returncode == 4
    assert "rank 1 on rg-node2 is gone" in errors or "srun: error: rg-node2: task 1: Killed" in errors
    until(lambda: not railgauge_processes(hosts))


def running(cluster):
    """The launcher of a job that goes on, a rank on each node, once it prints."""
    hosts, environ = cluster
    asked = ["--launcher", "srun", "--hosts", "rg-node1,rg-node2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    launcher = hosts.start(0, [*RUN, *FOREVER, *asked], env=environ, **pipes)
    for line in launcher.stdout:
        if line.split()[:1] == ["64"]:
            break
    return launcher


def has_task(pid):
    return b"\0SLURM_PROCID=" in Path(f"/proc/{pid}/environ").read_bytes()


def test_a_value_with_a_comma_is_refused_with_the_way_out(monkeypatch, tmp_path):
    (tmp_path / "srun").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    launch = Launch(argv=["run"], processes=2, hosts=parse_hostfile("a:2", "f"), variables=["NCCL_IB_HCA=a,b"])
    with pytest.raises(UsageError, match="export it here and use -x NCCL_IB_HCA"):
        srun.commands(launch)
