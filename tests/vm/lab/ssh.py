# SPDX-License-Identifier: Apache-2.0
"""ssh between the guests of a boot, as root and by addresses of rail 0."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.hosts.ssh_keys import make_keys

IO = Path("/run/io")
SSH = f"ssh -F {IO}/ssh_config"
START = f"rm -f ~/.bashrc; mkdir -p /run/sshd && /usr/sbin/sshd -f {IO}/sshd_config\n"
"""What a guest's job begins with, to let the others in. What the host's user has set up for shells could take a minute
in emulation; the guest's overlay forgets it."""


def address(rank: int) -> str:
    """Of a guest, on rail 0 (guest.sh)."""
    return f"10.77.0.{rank + 1}"


def let_in(folders: Sequence[Path]) -> None:
    """Keys and configuration in every guest's folder; START and SSH do the rest."""
    first, *others = folders
    make_keys(first, map(address, range(len(folders))), seen_at=IO)
    for folder in others:
        for file in first.iterdir():
            shutil.copy(file, folder)
