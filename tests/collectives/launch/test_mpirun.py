# SPDX-License-Identifier: Apache-2.0
"""Runs under Open MPI's and MPICH's mpirun, on this host and on two: railgauge as their rank, and as their launcher."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.cli.command import clean_environment, command
from tests.collectives.by_hand import free_port
from tests.collectives.launch.peers import AS_ROOT, launch, on_path, peer, pids_with
from tests.collectives.launch.remote_agent import remote_agent
from tests.hosts.netns import make_hosts
from tests.patience import HANGS_AFTER_S

from railgauge.collectives.launch import mpirun
from railgauge.collectives.launch.hostfile import Host
from railgauge.collectives.launch.launch import Launch
from railgauge.topo.errors import UnavailableError, UsageError

MPIS = ("openmpi", "mpich")
SMALL = command("run", "all_reduce", "-b", "1K", "-e", "2K", "-f", "2", "-n", "2", "--timeout", "120", "--json")
AS_RANKS = {"openmpi": ["--oversubscribe"], "mpich": []}


def document(result, status=0):
    assert result.returncode == status, result.stderr
    return json.loads(result.stdout)


def test_open_mpis_hostfile_and_x_as_users_write_them(tmp_path):
    hostfile = tmp_path / "mpi_hosts"
    hostfile.write_text("localhost slots=2  # here\n")
    got = launch(
        *(peer("openmpi"), "-np", "2", "-hostfile", str(hostfile)),
        *("-x", f"NCCL_TOPO_DUMP_FILE={tmp_path}/topo.txt", "-x", f"NCCL_GRAPH_DUMP_FILE={tmp_path}/graph.txt"),
        *command("run", "all_reduce", "-b", "1K", "-e", "4K", "-f", "2", "-g", "1"),
    )
    assert got.returncode == 0, got.stderr
    assert got.stdout.count("float     sum") == 3
    assert "Out of bounds values : 0 OK" in got.stdout
    assert "<graphs" in (tmp_path / "graph.txt").read_text()
    assert "<system" in (tmp_path / "topo.txt").read_text()


@pytest.mark.parametrize("mpi", MPIS)
def test_several_ranks_in_each_process(mpi):
    got = document(launch(peer(mpi), *AS_RANKS[mpi], "-np", "2", *SMALL, "-g", "2"))
    assert (got["status"], got["ranks"], got["nodes"]) == ("ok", 4, 1)


@pytest.mark.parametrize("mpi", MPIS)
def test_a_master_that_is_passed_takes_the_place_of_the_launchers_store(mpi):
    got = launch(peer(mpi), "-np", "2", *SMALL, "-T", "3", MASTER_ADDR="203.0.113.1", MASTER_PORT="29500")
    assert "MASTER_ADDR 203.0.113.1 is not an address of rank 0's host" in got.stderr
    assert got.returncode != 0


@pytest.mark.parametrize("mpi", MPIS)
def test_ranks_on_two_hosts(mpi, tmp_path):
    with make_hosts(2) as hosts:
        agent, (first, second) = remote_agent(hosts, tmp_path), hosts.addresses
        there = {
            "openmpi": ["--prtemca", "plm_ssh_agent", agent, "--host", f"{first}:2,{second}:2"],
            "mpich": ["-launcher", "ssh", "-launcher-exec", agent, "-hosts", f"{first}:2,{second}:2"],
        }[mpi]
        got = document(hosts.run(0, [peer(mpi), *there, "-np", "4", *SMALL], env=clean_environment(**AS_ROOT)))
    assert (got["status"], got["ranks"], got["nodes"]) == ("ok", 4, 2)
    assert {c["via"].split("/")[0] for c in got["connections"]} == {"SHM", "NET"}


@pytest.mark.parametrize("mpi", MPIS)
def test_railgauge_launches_on_two_hosts_and_passes_the_secret_by_no_command_line(mpi, tmp_path):
    secret = "5ec4e7" * 8
    with make_hosts(2) as hosts:
        agent = remote_agent(hosts, tmp_path)
        env = {"openmpi": {"PRTE_MCA_plm_ssh_agent": agent}, "mpich": {"HYDRA_LAUNCHER_EXEC": agent}}[mpi]
        hostfile = tmp_path / "hosts"
        hostfile.write_text("".join(f"{address} slots=2\n" for address in hosts.addresses))
        got = document(
            hosts.run(
                0,
                [*SMALL, "--launcher", "mpirun", "--hostfile", str(hostfile), "-x", "NCCL_DEBUG=WARN"],
                env=clean_environment(**env, RAILGAUGE_SECRET=secret) | {"PATH": on_path(peer(mpi))},
            )
        )
        assert (got["status"], got["ranks"], got["nodes"]) == ("ok", 4, 2)
        assert secret not in (tmp_path / "agent.log").read_text()


@pytest.mark.parametrize("mpi", MPIS)
def test_railgauge_launches_here_and_shows_the_command(mpi):
    path = on_path(peer(mpi))
    options = ("--launcher", "mpirun", "--ranks", "3")
    shown = launch(*SMALL, *options, "--dry-run", PATH=path, RAILGAUGE_SECRET="5ec4e7" * 8)
    assert "5ec4e7" not in shown.stdout
    assert document(launch(*shlex.split(shown.stdout), PATH=path, RAILGAUGE_SECRET="5ec4e7" * 8))["ranks"] == 3
    assert document(launch(*SMALL, *options, PATH=path))["ranks"] == 3


@pytest.mark.parametrize("mpi", MPIS)
def test_the_shown_command_runs_without_a_secret_and_the_document_has_what_was_typed(mpi):
    path = on_path(peer(mpi))
    typed = [*SMALL, "--launcher", "mpirun", "-np", "2", "-xNCCL_DEBUG=WARN"]
    pasted = launch(*shlex.split(launch(*typed, "--dry-run", PATH=path).stdout), PATH=path)
    assert document(pasted)["ranks"] == 2
    assert "RAILGAUGE" not in pasted.stderr
    assert document(launch(*typed, PATH=path))["command"] == typed[typed.index("run") :]


@pytest.mark.parametrize("mpi", MPIS)
def test_a_place_that_is_left_over_where_ranks_start_is_not_theirs(mpi):
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    left_over = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", **where}
    path = on_path(peer(mpi))
    shown = launch(*SMALL, "--launcher", "mpirun", "-np", "2", "--dry-run", PATH=path)
    pasted = launch(*shlex.split(shown.stdout), PATH=path, **left_over)
    assert document(pasted)["ranks"] == 2


@pytest.mark.parametrize("mpi", MPIS)
def test_a_host_that_is_not_reached_is_named_in_one_line_with_status_4(mpi, tmp_path):
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\necho 'ssh: connect to host 10.77.9.9 port 22: No route to host' >&2\nexit 255\n")
    agent.chmod(0o755)
    env = {"PRTE_MCA_plm_ssh_agent": str(agent), "HYDRA_LAUNCHER_EXEC": str(agent), "PATH": on_path(peer(mpi))}
    got = launch(*SMALL, "--launcher", "mpirun", "--hosts", "10.77.9.9:2", **env)
    assert got.returncode == 4
    said = [line for line in got.stderr.splitlines() if line.startswith("railgauge run: mpirun ended with status")]
    assert len(said) == 1
    assert said[0].endswith(": ssh: connect to host 10.77.9.9 port 22: No route to host")


@pytest.mark.parametrize("mpi", MPIS)
def test_a_failed_run_is_status_4_with_a_document(mpi):
    path = on_path(peer(mpi))
    got = launch(*SMALL, "--launcher", "mpirun", "--ranks", "2", "--min-busbw", "1e6", PATH=path)
    assert got.returncode == 4
    assert "below the required 1e+06 GB/s" in json.loads(got.stdout)["error"]


@pytest.mark.parametrize("mpi", MPIS)
def test_a_killed_rank_ends_the_job_and_nothing_is_left(mpi):
    with started(mpi) as (launcher, ranks):
        os.kill(ranks[-1], signal.SIGKILL)
        launcher.wait(HANGS_AFTER_S)
        assert launcher.returncode == 4
        assert none_left(ranks)


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_no_rank_outlives_an_interrupt(mpi, number, status):
    with started(mpi) as (launcher, ranks):
        launcher.send_signal(number)
        launcher.stdout.close()
        launcher.wait(HANGS_AFTER_S)
        assert launcher.returncode == status
        assert none_left(ranks)


class started:
    """A long run of two ranks by --launcher mpirun: the launcher, and the pids of the ranks once they measure."""

    def __init__(self, mpi):
        self.mark = f"60.{time.monotonic_ns()}"
        long_run = command("run", "all_reduce", "-b", "8", "-e", "8", "-N", "0", "--timeout", self.mark)
        self.launcher = subprocess.Popen(
            [*long_run, "--launcher", "mpirun", "--ranks", "2"],
            env=clean_environment(PATH=on_path(peer(mpi))),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self):
        while "float" not in self.launcher.stdout.readline():
            assert self.launcher.poll() is None
        return self.launcher, [pid for pid in self.pids() if is_rank(pid)]

    def __exit__(self, *error):
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
        self.launcher.wait(HANGS_AFTER_S)
        self.launcher.stdout.close()

    def pids(self):
        return pids_with(self.mark)


def is_rank(pid):
    return any(name in Path(f"/proc/{pid}/environ").read_bytes() for name in (b"PMIX_RANK=", b"PMI_RANK="))


def none_left(pids):
    deadline = time.monotonic() + HANGS_AFTER_S
    while left := [pid for pid in pids if alive(pid)]:
        if time.monotonic() > deadline:
            return not left
        time.sleep(0.05)
    return bool(pids)


def alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_hosts_that_an_mpirun_cannot_be_told_are_refused(monkeypatch):
    for mpi, host in (("openmpi", Host("fd77::1", 2)), ("mpich", Host("fd77::1", 2)), ("mpich", Host("a", 2, "me"))):
        monkeypatch.setenv("PATH", on_path(peer(mpi)))
        with pytest.raises(UsageError, match=host.address):
            mpirun.commands(Launch(argv=["run"], processes=2, hosts=[host]))


def test_no_mpirun_is_named(monkeypatch, tmp_path):
    launch = Launch(argv=["run"], processes=2)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="mpirun is not on PATH"):
        mpirun.commands(launch)
    (tmp_path / "mpirun").write_text("#!/bin/sh\necho Platform MPI 9\n")
    (tmp_path / "mpirun").chmod(0o755)
    with pytest.raises(UnavailableError, match=r"neither Open MPI's nor MPICH's .*Platform MPI 9"):
        mpirun.commands(launch)
