# SPDX-License-Identifier: Apache-2.0
"""Which network interfaces NCCL's socket transport and bootstrap use: NCCL_SOCKET_IFNAME and the default order.

NCCL's functions: `ncclFindInterfaces`, `parseStringList`, `matchIfList`.
"""

from collections.abc import Iterable, Sequence

MAX_INTERFACES = 16  # MAX_IFS
DEFAULTS = ("ib", "^docker,lo,virbr", "docker", "lo", "virbr")
"""Patterns used without NCCL_SOCKET_IFNAME: the first one that any interface matches."""


def choose(names: Sequence[str], setting: str | None) -> tuple[str, ...]:
    """The interfaces to use, out of those that have an address, in the order given.

    `setting` is NCCL_SOCKET_IFNAME: prefixes separated by commas; `=` wants exact names, `^` excludes. Without it, or
    with one character (`ncclFindInterfaces`): those named ib*, else all but docker*, lo and virbr*, else docker*, else
    lo, else virbr*.
    """
    if setting and len(setting) > 1:
        return _unique(name for name in names if matches(name, setting))
    for default in DEFAULTS:
        found = _unique(name for name in names if matches(name, default))
        if found:
            return found
    return ()


def matches(name: str, setting: str) -> bool:
    """Whether a setting selects one interface, such as `eth,ib`, `=eth0` or `^docker`."""
    exclude, exact = setting.startswith("^"), setting.removeprefix("^").startswith("=")
    wanted = setting.removeprefix("^").removeprefix("=").split(",")
    hit = any(part and (name == part if exact else name.startswith(part)) for part in wanted)
    return hit != exclude


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))[:MAX_INTERFACES]
