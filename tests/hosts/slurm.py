# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster on the hosts of netns.py: slurmctld on the first, a slurmd on each, Debian's slurm-wlm.

with make_hosts(2) as hosts, slurm_on(hosts, tmp_path) as environ:
    hosts.run(0, ["srun", "-n2", "hostname"], env=environ)
"""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hosts.netns import Hosts
from tests.patience import HANGS_AFTER_S

CPUS = 8  # of each node, whatever the machine has
UP_WITHIN_S = 30

CONFIGURATION = """\
ClusterName=railgauge
SlurmctldHost={controller}({address})
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=3
PartitionName=all Nodes=ALL Default=YES
"""


@contextlib.contextmanager
def slurm_on(hosts: Hosts, folder: Path, more: str = "") -> Iterator[dict[str, str]]:
    """Slurm for the time of the block: the environment in which its commands find it; skips where it is absent.

    more: lines for slurm.conf.
    """
    for program in ("slurmctld", "slurmd", "srun"):
        if shutil.which(program) is None:
            pytest.skip(f"no Slurm: {program} is not installed")
    environ = _configure(hosts, folder, more)
    log = (folder / "daemons.log").open("wb")
    with log:
        options = {"env": environ, "stdout": log, "stderr": log}
        hosts.start(0, ["slurmctld", "-D", "-c"], **options)
        for host, name in enumerate(hosts.names):
            hosts.start(host, ["slurmd", "-D", "-N", name], **options)
        _wait_until_idle(hosts, environ, folder)
        yield environ


def _configure(hosts: Hosts, folder: Path, more: str) -> dict[str, str]:
    text = CONFIGURATION.format(controller=hosts.names[0], address=hosts.addresses[0], folder=folder)
    for name, address in zip(hosts.names, hosts.addresses, strict=True):
        text += f"NodeName={name} NodeAddr={address} CPUs={CPUS}\n"
        (folder / f"spool-{name}").mkdir()
    (folder / "state").mkdir()
    (folder / "slurm.conf").write_text(text + more)
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    return os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}


def _wait_until_idle(hosts: Hosts, environ: dict[str, str], folder: Path) -> None:
    deadline = time.monotonic() + UP_WITHIN_S
    while time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            states = hosts.run(0, ["sinfo", "-h", "-N", "-o", "%t"], env=environ, timeout=HANGS_AFTER_S).stdout.split()
            if states == ["idle"] * len(hosts.names):
                return
        time.sleep(0.1)
    pytest.fail(f"Slurm did not come up:\n{(folder / 'daemons.log').read_text()[-4000:]}")
