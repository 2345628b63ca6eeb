# SPDX-License-Identifier: Apache-2.0
"""The ssh launcher, with a real sshd on each of two hosts."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hosts.netns import make_hosts
from tests.hosts.rank_processes import rank_of
from tests.hosts.sshd import sshd_on
from tests.hosts.waiting import until
from tests.patience import HANGS_AFTER_S

from railgauge.cli.ranks_start import MODULES

RUN = [sys.executable, "-P", "-m", "railgauge", "run", "all_reduce", "-b", "8", "-e", "64", "-f", "2"]
ON_BOTH = ["--launcher", "ssh", "--hosts", "rg-node1:2,rg-node2:2"]
FOREVER = ["-N", "0", "-n", "1", "-T", "60"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sshd")
    with make_hosts(2) as hosts, sshd_on(hosts, folder) as environ:
        yield hosts, environ


def command_line(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def ranks(hosts, host):
    """The rank processes that run on that host."""
    return [pid for pid in hosts.pids(host) if rank_of(pid) >= 0]


def railgauge_processes(hosts):
    return [pid for host in (0, 1) for pid in hosts.pids(host) if "railgauge" in command_line(pid)]


@contextlib.contextmanager
def running(cluster):
    """A job that goes on, once all four ranks print or work: its launcher."""
    hosts, environ = cluster
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    launcher = hosts.start(0, [*RUN, *FOREVER, *ON_BOTH], env=environ, **pipes)
    try:
        for line in launcher.stdout:
            if line.split()[:1] == ["64"]:
                break
        assert [len(ranks(hosts, host)) for host in (0, 1)] == [2, 2]
        yield launcher
    finally:
        launcher.kill()
        until(lambda: not railgauge_processes(hosts))


def test_a_run_on_two_hosts_prints_rank_0s_table(cluster):
    hosts, environ = cluster
    ran = hosts.run(0, [*RUN, *ON_BOTH], env=environ)
    assert ran.returncode == 0, ran.stderr
    devices = [line.split() for line in ran.stdout.splitlines() if line.startswith("#  Rank")]
    assert [(words[2], words[8]) for words in devices] == [(str(rank), f"rg-node{rank // 2 + 1}") for rank in range(4)]
    assert "# Out of bounds values : 0 OK" in ran.stdout
    until(lambda: not railgauge_processes(hosts))


def test_json_is_one_document_and_a_hostfile_says_where(cluster, tmp_path):
    hosts, environ = cluster
    hostfile = tmp_path / "mpi_hosts"
    hostfile.write_text("10.77.0.1 rg-node1 slots=1 # first\n[fd77::2]:4\n")
    asked = ["--json", "--hostfile", str(hostfile), "--launcher", "ssh", "--ranks", "2"]
    ran = hosts.run(0, [*RUN, *asked], env=environ)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert (document["ranks"], document["nodes"], document["status"]) == (2, 2, "ok")
    assert document["command"] == [*RUN[4:], *asked]
    assert "-np 2 of 5 slots: 1 on 10.77.0.1, 1 on fd77::2" in ran.stderr


def test_dry_run_prints_what_would_run_and_nothing_secret(cluster):
    hosts, environ = cluster
    environ = environ | {"RAILGAUGE_SECRET": "not-to-be-seen-here", "NCCL_DEBUG": "WARN", "MASTER_PORT": "29500"}
    ran = hosts.run(0, [*RUN, *ON_BOTH, "-x", "MINE=a b", "--dry-run"], env=environ)
    assert ran.returncode == 0, ran.stderr
    first, second = (shlex.split(line) for line in ran.stdout.splitlines())
    assert (first[-2], second[-2]) == ("rg-node1", "rg-node2")
    remote = shlex.split(second[-1])
    assert {"NCCL_DEBUG=WARN", "MINE=a b", "WORLD_SIZE=4", "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=rg-node1"} < set(remote)
    assert remote[remote.index("railgauge.collectives.launch.ssh_host") + 1 :] == [
        "2",
        "5",
        os.getcwd(),
        ",".join(MODULES["run"]),
        *RUN[4:],
    ]
    assert "not-to-be-seen-here" not in ran.stdout + ran.stderr
    assert not railgauge_processes(hosts)


def test_the_shown_commands_run(cluster):
    hosts, environ = cluster
    shown = hosts.run(0, [*RUN, *ON_BOTH, "--dry-run"], env=environ).stdout.splitlines()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    pasted = [hosts.start(0, ["sh", "-c", line], env=environ, **pipes) for line in shown]
    for process in pasted:
        process.stdin.write(b"c0ffee" * 8 + b"\n\n")
        process.stdin.flush()
    assert [process.wait(HANGS_AFTER_S) for process in pasted] == [0, 0], pasted[0].stderr.read()
    assert b"# Out of bounds values : 0 OK" in pasted[0].stdout.read()


def test_variables_reach_the_hosts_and_the_secret_stands_in_no_command_line(cluster):
    hosts, environ = cluster
    secret = "c0ffee" * 8
    with running((hosts, environ | {"RAILGAUGE_SECRET": secret, "NCCL_SOCKET_IFNAME": "=eth0"})):
        for host in (0, 1):
            for pid in hosts.pids(host):
                assert secret not in command_line(pid)
            environment = Path(f"/proc/{ranks(hosts, host)[0]}/environ").read_bytes().split(b"\0")
            assert b"NCCL_SOCKET_IFNAME==eth0" in environment


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_when_the_launcher_ends_nothing_is_left_on_any_host(cluster, number):
    with running(cluster) as launcher:
        launcher.send_signal(number)
        launcher.wait(HANGS_AFTER_S)
        if number == signal.SIGINT:
            assert launcher.returncode == 130
        until(lambda: not railgauge_processes(cluster[0]))


def test_when_nobody_reads_the_table_any_more_the_job_ends(cluster):
    with running(cluster) as launcher:
        launcher.stdout.close()
        assert launcher.wait(HANGS_AFTER_S) == 141
        until(lambda: not railgauge_processes(cluster[0]))


def test_a_rank_that_is_killed_ends_the_job_and_is_named(cluster):
    hosts, _ = cluster
    with running(cluster) as launcher:
        os.kill(ranks(hosts, 1)[0], signal.SIGKILL)
        _, errors = launcher.communicate(timeout=HANGS_AFTER_S)
        assert launcher.returncode == 4
        assert "rg-node2: rank" in errors
        assert "SIGKILL" in errors
        until(lambda: not railgauge_processes(hosts))


def test_a_connection_that_breaks_ends_the_job_and_names_the_host(cluster):
    hosts, _ = cluster
    with running(cluster) as launcher:
        ssh = next(pid for pid in hosts.pids(0) if " rg-node2 env " in command_line(pid))
        os.kill(ssh, signal.SIGKILL)
        _, errors = launcher.communicate(timeout=HANGS_AFTER_S)
        assert launcher.returncode == 4
        assert "rg-node2" in errors
        until(lambda: not railgauge_processes(hosts))


def test_a_session_that_dies_on_the_host_ends_the_job_and_names_the_host(cluster):
    hosts, _ = cluster
    with running(cluster) as launcher:
        sessions = [pid for pid in hosts.pids(1) if command_line(pid).startswith("sshd: root")]
        assert sessions
        for pid in sessions:
            os.kill(pid, signal.SIGKILL)
        _, errors = launcher.communicate(timeout=HANGS_AFTER_S)
        assert launcher.returncode == 4
        assert "lost rg-node2" in errors
        until(lambda: not railgauge_processes(hosts))


def test_a_cause_that_one_rank_has_alone_ends_all_with_its_status(cluster):
    hosts, environ = cluster
    ran = hosts.run(0, [*RUN, *ON_BOTH, "-T", "60"], env=environ | {"MASTER_ADDR": "rg-node2"})
    assert ran.returncode == 2
    assert "MASTER_ADDR rg-node2" in ran.stderr
    assert "disconnected" not in ran.stderr
    until(lambda: not railgauge_processes(hosts))  # the other host ends when its ssh has


def test_hosts_have_to_be_named_and_the_first_so_that_others_reach_it(cluster):
    hosts, environ = cluster
    ran = hosts.run(0, [*RUN, "--launcher", "ssh"], env=environ)
    assert (ran.returncode, "--hostfile" in ran.stderr) == (2, True)
    ran = hosts.run(0, [*RUN, "--launcher", "ssh", "--hosts", "localhost,rg-node2"], env=environ)
    assert (ran.returncode, "the rendezvous would be at localhost" in ran.stderr) == (2, True)


def test_a_host_without_the_folder_says_where_files_go_and_ends_with_its_stdin(tmp_path):
    command = [sys.executable, "-P", "-m", "railgauge.collectives.launch.ssh_host"]
    arguments = ["0", "5", "/no/such/folder", "", *RUN[4:], *FOREVER]
    environ = os.environ | {"WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([*command, *arguments], env=environ, cwd=tmp_path, **pipes) as host:
        host.stdin.write(b"c0ffee" * 8 + b"\n\n")
        host.stdin.flush()
        assert b"/no/such/folder: No such file or directory: using" in host.stderr.readline()
        _, errors = host.communicate(timeout=HANGS_AFTER_S)
        assert host.returncode == 4, errors


def test_without_a_secret_on_stdin_nothing_starts():
    command = [
        sys.executable,
        "-P",
        "-m",
        "railgauge.collectives.launch.ssh_host",
        "0",
        "5",
        "/",
        "",
        "run",
        "all_reduce",
    ]
    ran = subprocess.run(command, input=b"", capture_output=True, timeout=HANGS_AFTER_S, check=False)
    assert (ran.returncode, ran.stdout) == (4, b"")


HUNG_SSH = """\
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
case "$*" in *ssh_host*) case $host in HUNG) exec sleep 1000;; esac;; esac
exec sh -c "$*"
"""


@pytest.mark.parametrize(("hung", "named"), [("*", ["127.0.0.2", "127.0.0.3"]), ("127.0.0.3", ["127.0.0.3"])])
def test_an_ssh_that_hangs_after_the_preflight_is_cut_off_and_named(tmp_path, hung, named):
    script = tmp_path / "ssh"
    script.write_text(HUNG_SSH.replace("HUNG", hung))
    script.chmod(0o755)
    run = [*RUN, "--launcher", "ssh", "--hosts", "127.0.0.2,127.0.0.3", "-T", "3", "--json"]
    environ = os.environ | {"RAILGAUGE_SSH": str(script), "NCCL_SOCKET_IFNAME": "lo"}
    ran = subprocess.run(run, env=environ, capture_output=True, text=True, timeout=HANGS_AFTER_S, check=False)
    assert ran.returncode == 4, ran.stderr
    for node in named:
        assert f"{node} did not start its ranks within 4 s" in ran.stderr
    assert json.loads(ran.stdout)["status"] == "failed"
    assert "starts its ranks\n" not in ran.stderr
