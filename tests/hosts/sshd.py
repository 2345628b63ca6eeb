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
from tests.hosts.ssh_keys import make_keys

UP_WITHIN_S = 10
UP = "import socket, sys; socket.create_connection((sys.argv[1], 22), 1)"


@contextlib.contextmanager
def sshd_on(hosts: Hosts, folder: Path) -> Iterator[dict[str, str]]:
    """Sshd's for the time of the block: the environment in which ssh logs in to them; skips where there is none."""
    sshd = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if sshd is None or shutil.which("ssh") is None:
        pytest.skip("no ssh: openssh-server and openssh-client are not installed")
    names = [*hosts.names, *hosts.addresses, *(f"fd77::{i + 1}" for i in range(len(hosts.names)))]
    make_keys(folder, names)
    Path("/run/sshd").mkdir(exist_ok=True)  # Debian's sshd locks its unprivileged half into it
    with (folder / "sshd.log").open("wb") as log:
        for host in range(len(hosts.names)):
            command = [sshd, "-D", "-e", "-f", str(folder / "sshd_config")]
            hosts.start(host, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for address in hosts.addresses:
            _wait_until_up(hosts, address, folder)
        yield os.environ | {"RAILGAUGE_SSH": f"ssh -F {folder}/ssh_config"}


def _wait_until_up(hosts: Hosts, address: str, folder: Path) -> None:
    deadline = time.monotonic() + UP_WITHIN_S
    while hosts.run(0, ["python3", "-c", UP, address]).returncode:
        if time.monotonic() > deadline:
            pytest.fail(f"sshd did not come up:\n{(folder / 'sshd.log').read_text()[-4000:]}")
        time.sleep(0.05)
