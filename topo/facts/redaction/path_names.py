# SPDX-License-Identifier: Apache-2.0
"""Names in paths: common ones, and those that reveal a user, a project or a site."""

import re
from collections.abc import Callable

SYSTEM = re.compile(
    r"/(?:sys|proc|dev(?!/(?:shm|hugepages|mqueue)/))(?:/|$)|/(?:var/)?run/nvidia-topologyd(?:/|$)|/etc/ufw(?:/|$)"
)
"""Where the kernel and programs name things, and users do not, as they do in /dev/shm."""
NAMES = r"(?:/[\w.%@+~-]+)+/?"
PATH = re.compile(rf"(?<![\w./~<-])~?{NAMES}|(?<=\w)/(?:home|users?|data|scratch|mnt|lustre|gpfs|nfs|srv|tmp){NAMES}")
"""A path in a text. Right behind a word, as in -I/home/alice, it begins with a folder that has those of users."""
ORDINARY = frozenset(
    re.findall(
        r"\S+",
        """
    home users user root data scratch lustre gpfs nfs mnt media opt usr local lib lib64 libexec bin sbin share
    var run tmp etc srv shared cluster nccl cuda nvidia hpcx venv python site-packages dist-packages hostname
    os-release conf config env envs log logs cache topo topology graph graphs system plugin plugins
    dev shm hugepages mqueue x86_64-linux-gnu aarch64-linux-gnu xml txt json yaml yml log so sock out err gz zst lib
    libnccl libnccl-net libnccl-tuner libnccl-profiler libibverbs libcuda libcudart libnvidia-ml libmlx5 librdmacm
    """,
    )
)
USERS = ("home", "users", "user")
"""The folders that hold one of each user."""
PIECE = re.compile(r"%[hp%]|[.~]|[^.%~]+|%")
PLAIN = re.compile(r"%.?|[.~]|\d{1,3}|python\d?|cuda-?\d*")


def renamed(path: str, pseudonym: Callable[[str, str], str]) -> str:
    """The path with `pseudonym(kind, name)` for what not every machine has; one of the system's own stays."""
    if SYSTEM.match(path):
        return path
    parts = path.split("/")
    return "/".join(
        _part(part, "user" if before in USERS else "path", pseudonym)
        for before, part in zip(["", *parts], parts, strict=False)
    )


def _part(part: str, kind: str, pseudonym: Callable[[str, str], str]) -> str:
    if kind == "user" and part:
        return pseudonym(kind, part)
    return "".join(
        piece if PLAIN.fullmatch(piece) or piece.lower() in ORDINARY else pseudonym(kind, piece)
        for piece in PIECE.findall(part)
    )
