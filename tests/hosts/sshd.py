# SPDX-License-Identifier: Apache-2.0
"""An sshd on each host of netns.py, with keys and configuration of its own: none of the machine's is touched.

with make_hosts(2) as hosts, sshd_on(hosts, tmp_path) as environ:     # environ has RAILGAUGE_SSH
    hosts.run(0, ["railgauge", "run", ..., "--launcher", "ssh", "--hosts", "rg-node1,rg-node2"], env=environ)
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

UP_WITHIN_S = 10

SSHD = """\
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
PidFile none
"""
SSH = """\
Host *
    User root
    IdentityFile {folder}/key
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
"""
UP = "import socket, sys; socket.create_connection((sys.argv[1], 22), 1)"


@contextlib.contextmanager
def sshd_on(hosts: Hosts, folder: Path) -> Iterator[dict[str, str]]:
    """Sshd's for the time of the block: the environment in which ssh logs in to them; skips where there is none."""
    sshd = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if sshd is None or shutil.which("ssh") is None:
        pytest.skip("no ssh: openssh-server and openssh-client are not installed")
    _configure(hosts, folder)
    Path("/run/sshd").mkdir(exist_ok=True)  # Debian's sshd locks its unprivileged half into it
    with (folder / "sshd.log").open("wb") as log:
        for host in range(len(hosts.names)):
            command = [sshd, "-D", "-e", "-f", str(folder / "sshd_config")]
            hosts.start(host, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for address in hosts.addresses:
            _wait_until_up(hosts, address, folder)
        yield os.environ | {"RAILGAUGE_SSH": f"ssh -F {folder}/ssh_config"}


def _configure(hosts: Hosts, folder: Path) -> None:
    for name in ("host_key", "key"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(make, check=True, stdin=subprocess.DEVNULL)
    (folder / "authorized_keys").write_text((folder / "key.pub").read_text())
    known = ",".join([*hosts.names, *hosts.addresses, *(f"fd77::{i + 1}" for i in range(len(hosts.names)))])
    (folder / "known_hosts").write_text(f"{known} {(folder / 'host_key.pub').read_text()}")
    (folder / "sshd_config").write_text(SSHD.format(folder=folder))
    (folder / "ssh_config").write_text(SSH.format(folder=folder))


def _wait_until_up(hosts: Hosts, address: str, folder: Path) -> None:
    deadline = time.monotonic() + UP_WITHIN_S
    while hosts.run(0, ["python3", "-c", UP, address]).returncode:
        if time.monotonic() > deadline:
            pytest.fail(f"sshd did not come up:\n{(folder / 'sshd.log').read_text()[-4000:]}")
        time.sleep(0.05)
