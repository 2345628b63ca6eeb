# SPDX-License-Identifier: Apache-2.0
"""Keys and configuration of an sshd and of the ssh that logs in to it, all in one folder: none of the machine's."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

SSHD = """\
HostKey {seen_at}/host_key
AuthorizedKeysFile {seen_at}/authorized_keys
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
    IdentityFile {seen_at}/key
    IdentitiesOnly yes
    UserKnownHostsFile {seen_at}/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
"""


def make_keys(folder: Path, names: Iterable[str], seen_at: Path | None = None) -> None:
    """Write sshd_config, ssh_config and what they name, for hosts of these names and addresses.

    `seen_at` is where the folder is for those that read it, if elsewhere.
    """
    for name in ("host_key", "key"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(make, check=True, stdin=subprocess.DEVNULL)
    (folder / "authorized_keys").write_text((folder / "key.pub").read_text())
    (folder / "known_hosts").write_text(f"{','.join(names)} {(folder / 'host_key.pub').read_text()}")
    (folder / "sshd_config").write_text(SSHD.format(seen_at=seen_at or folder))
    (folder / "ssh_config").write_text(SSH.format(seen_at=seen_at or folder))
