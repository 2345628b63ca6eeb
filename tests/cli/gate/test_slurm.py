# SPDX-License-Identifier: Apache-2.0
"""gate slurm with Debian's slurmd: as HealthCheckProgram it drains a broken node with the reason, and as a prolog it
keeps a job off it.
"""

import re
import shlex
import stat
import sys
import time

import pytest
from tests.cli.command import in_process
from tests.hosts.netns import make_hosts
from tests.hosts.slurm import slurm_on
from tests.patience import HANGS_AFTER_S

BROKEN, GOOD = "@dgx-h100-nvlink-down", "@dgx-h100"
GATE = ("gate", "slurm", "--fail-on", "WARN")
REASON = "railgauge: nvlink-missing 0000:52:00.0"


def script(path, folder, machine, *options):
    """A gate over the machine that the file `machine` names, as slurmd starts it: with hardly an environment."""
    gate = shlex.join([sys.executable, "-P", "-m", "railgauge", *GATE, *options])
    path.write_text(
        f"#!/bin/sh\nexport SLURM_CONF={folder}/slurm.conf PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"
        f'exec {gate} --node "${{SLURMD_NODENAME:-$(hostname -s)}}" --from "$(cat {machine})"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def node(hosts, environ, number):
    told = hosts.run(0, ["scontrol", "-o", "show", "node", hosts.names[number]], env=environ).stdout
    why = re.search(r"Reason=(.*?) \[", told)
    return set(re.search(r"State=(\S+)", told)[1].split("+")), why[1] if why else ""


def until(look, wanted):
    deadline = time.monotonic() + HANGS_AFTER_S
    while not wanted(seen := look()):
        assert time.monotonic() < deadline, seen
        time.sleep(0.2)
    return seen


def test_a_health_check_drains_a_broken_node_and_resumes_it(tmp_path):
    machine = tmp_path / "machine"
    machine.write_text(GOOD)
    health = script(tmp_path / "health", tmp_path, machine, "--resume")
    more = f"HealthCheckProgram={health}\nHealthCheckInterval=1\nHealthCheckNodeState=ANY\n"
    with make_hosts(1) as hosts, slurm_on(hosts, tmp_path, more) as environ:
        machine.write_text(BROKEN)
        _, why = until(lambda: node(hosts, environ, 0), lambda seen: "DRAIN" in seen[0])
        assert why == REASON
        machine.write_text(GOOD)
        until(lambda: node(hosts, environ, 0), lambda seen: "DRAIN" not in seen[0])
        by_hand = ["scontrol", "update", "NodeName=rg-node1", "State=DRAIN", "Reason=new fans"]
        assert hosts.run(0, by_hand, env=environ).returncode == 0
        machine.write_text(BROKEN)
        for gate_status in (1, 0):  # a drain by hand is neither renamed nor lifted
            done = hosts.run(0, [str(health)], env=environ)
            assert done.returncode == gate_status, done.stderr
            assert node(hosts, environ, 0)[1] == "new fans"
            machine.write_text(GOOD)


def test_a_prolog_keeps_the_job_off_a_broken_node(tmp_path):
    machine = tmp_path / "machine"
    machine.write_text(BROKEN)
    prolog = script(tmp_path / "prolog", tmp_path, machine)
    with make_hosts(1) as hosts, slurm_on(hosts, tmp_path, f"Prolog={prolog}\nPrologFlags=Alloc\n") as environ:
        job = hosts.run(
            0, ["srun", "--no-kill", "-n1", "-t1", "--immediate=20", "echo", "ran"], env=environ, timeout=HANGS_AFTER_S
        )
        assert "ran" not in job.stdout
        _, why = until(lambda: node(hosts, environ, 0), lambda seen: "DRAIN" in seen[0])
        assert why == REASON


def test_the_command_is_printed_for_a_shell():
    done = in_process(*GATE, "--from", BROKEN, "--node", "gpu-07", "--dry-run")
    assert done.returncode == 1
    assert shlex.split(done.stdout) == ["scontrol", "update", "NodeName=gpu-07", "State=DRAIN", f"Reason={REASON}"]
    assert in_process(*GATE, "--from", GOOD, "--dry-run").returncode == 0


def test_where_nothing_could_be_checked_no_node_is_resumed():
    done = in_process("gate", "slurm", "--from", GOOD, "--only", "memlock-low", "--resume", "--dry-run")
    assert (done.returncode, done.stdout) == (3, "")
    assert "nothing could be checked" in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [(("--from", GOOD), "--from requires --node or --dry-run"), (("--dry-run", "--node", "a b"), "not a node's name")],
)
def test_what_is_refused(options, says):
    done = in_process(*GATE, *options)
    assert done.returncode == 2
    assert says in done.stderr


def test_what_slurm_refuses_is_told(tmp_path):
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\necho slurm_load_node error: Invalid node name >&2\nexit 1\n")
    scontrol.chmod(0o755)
    done = in_process(*GATE, "--from", BROKEN, "--node", "gpu1", PATH=str(tmp_path))
    assert done.returncode == 3
    assert "show node gpu1: slurm_load_node error: Invalid node name" in done.stderr


def test_slurm_that_does_not_answer_is_named(tmp_path):
    done = in_process(*GATE, "--from", BROKEN, "--node", "gpu1", PATH=str(tmp_path))
    assert done.returncode == 3
    assert "scontrol was not found" in done.stderr
