# SPDX-License-Identifier: Apache-2.0
"""railgauge topo bind: the command runs where it should, and its exit status is kept."""

import os
import shutil
import subprocess

import pytest
from tests.cli.command import clean_environment, command, railgauge
from tests.patience import HANGS_AFTER_S

from railgauge.cli.topo.bind import binding_of
from railgauge.topo.machine import load_machine
from railgauge.topo.values.spans import listed

CPUS = sorted(os.sched_getaffinity(0))
SHOW = 'echo "$(grep Cpus_allowed_list /proc/self/status | cut -f2) $CUDA_VISIBLE_DEVICES"'


def described(*cpus):
    """A machine with a GPU for each CPU, each on a NUMA node of its own."""
    gpu = '<pci busid="0000:{0}0:00.0" class="0x030200"><gpu dev="{1}" sm="90" rank="{1}" gdr="1"/></pci>'
    nodes = (
        f'<cpu numaid="{i}" affinity="{1 << cpu:x}" arch="x86_64">{gpu.format(i + 1, i)}</cpu>'
        if cpu is not None
        else f'<cpu numaid="-1" arch="x86_64">{gpu.format(i + 1, i)}</cpu>'
        for i, cpu in enumerate(cpus)
    )
    return f'<system version="1">{"".join(nodes)}</system>'


@pytest.fixture
def machine(tmp_path):
    if CPUS[-1] > 31:
        pytest.skip("the masks of this test have room for 32 CPUs")
    path = tmp_path / "machine.xml"
    path.write_text(described(CPUS[0], CPUS[-1]))
    return str(path)


def bind(machine, *args, **env):
    return railgauge("topo", "bind", "--from", machine, *args, **env)


def test_the_command_runs_on_the_cpus_of_its_gpu(machine):
    for rank, cpu in enumerate((CPUS[0], CPUS[-1])):
        done = bind(machine, "--one-gpu", "--", "sh", "-c", SHOW, OMPI_COMM_WORLD_LOCAL_RANK=str(rank))
        assert done.stdout == f"{cpu} {rank}\n"
        assert f"rank {rank}: GPU{rank}, CPUs {cpu}" in done.stderr


def test_status_and_options_are_the_commands(machine):
    done = bind(machine, "--rank", "0", "--", "sh", "-c", 'echo "$@"; exit 7', "sh", "--debug", "--rank", "9")
    assert (done.returncode, done.stdout) == (7, "--debug --rank 9\n")


def test_dry_run_does_nothing(machine):
    done = bind(machine, "--rank", "1", "--dry-run", "--", "sh", "-c", "echo ran")
    assert (done.returncode, done.stdout) == (0, "")
    assert "GPU1" in done.stderr


def test_unknown_cpus_leave_the_command_unbound(tmp_path):
    path = tmp_path / "vm.xml"
    path.write_text(described(None))
    done = bind(str(path), "--rank", "0", "--mem", "--", "sh", "-c", SHOW)
    assert "not bound" in done.stderr
    assert done.stdout.strip() == listed(tuple(CPUS))


def test_what_cannot_be_bound(machine):
    for args, status, words in (
        (("--rank", "2", "--", "true"), 2, "2 are visible"),
        (("--", "true"), 2, "--rank R"),
        (("--rank", "0", "--", "no-such-command"), 3, "cannot run no-such-command"),
    ):
        done = bind(machine, *args)
        assert (done.returncode, words in done.stderr) == (status, True), done.stderr
    far = bind("@dgx-h100", "--rank", "7", "--", "true") if max(CPUS) < 98 else None
    assert far is None or (far.returncode, "cannot run on CPUs" in far.stderr) == (3, True)


def test_visible_gpus_number_the_ranks_and_keep_their_cores():
    machine = load_machine("@dgx-h100")
    whole = [binding_of(machine, rank) for rank in range(8)]
    assert binding_of(machine, 1, "6,2") == whole[2].__class__(
        rank=1, gpu=whole[2].gpu, cpus=whole[2].cpus, cores=whole[2].cores, numa=0, nets=whole[2].nets
    )
    assert binding_of(machine, 5, "3").cpus == whole[3].cpus


@pytest.mark.parametrize("recorded", [True, False])
def test_cuda_visible_devices_counts_on_a_named_machine_too(tmp_path, recorded):
    path = tmp_path / "topo.xml"
    path.write_text(described(0, 0, 0, 0, 0, 0))
    args = ("--rank", "1", "--dry-run", "--", "true")
    done = bind("@dgx-h100" if recorded else str(path), *args, CUDA_VISIBLE_DEVICES="4,5")
    assert "rank 1: GPU5, " in done.stderr


@pytest.mark.skipif(0 not in CPUS or max(CPUS) > 30, reason="needs CPU 0, and CPU 31 to be absent")
def test_cpus_that_are_not_all_there_are_told(tmp_path):
    path = tmp_path / "machine.xml"
    path.write_text(described(0).replace('affinity="1"', 'affinity="80000001"'))
    done = bind(str(path), "--rank", "0", "--", "sh", "-c", SHOW)
    assert "rank 0: only CPUs 0 of these are available" in done.stderr
    assert done.stdout.split()[0] == "0"


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun here")
@pytest.mark.skipif(len(CPUS) < 2, reason="one CPU: nothing to tell ranks apart by")
def test_ranks_of_mpirun(machine):
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    args = ["mpirun", "-np", "2", *command("topo", "bind", "--from", machine, "--", "sh", "-c", SHOW)]
    done = subprocess.run(
        args, env=clean_environment(**root), capture_output=True, text=True, timeout=HANGS_AFTER_S, check=True
    )
    assert sorted(done.stdout.split()) == sorted(map(str, (CPUS[0], CPUS[-1])))
