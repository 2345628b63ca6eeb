# SPDX-License-Identifier: Apache-2.0
"""Which network interfaces NCCL's socket transport and bootstrap use: NCCL_SOCKET_IFNAME and the default order.

NCCL's functions: `ncclFindInterfaces`, `parseStringList`, `matchIfList`. The libraries of 2.19 to 2.32 were asked, and
tests/nccl asks them again: they read lists in the same way; those before 2.28 take interfaces that are not running too,
and have no rule for virbr*.
"""

from collections.abc import Iterable, Mapping, Sequence

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.sysfs_net import addressed

NAMES, FAMILY = "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY"
MAX_INTERFACES = 16  # MAX_IFS: of interfaces, and of the entries of a list that are read
DEFAULTS = ("ib", "^docker,lo,virbr", "docker", "lo", "virbr")
"""Patterns used without NCCL_SOCKET_IFNAME: the first one that any interface matches."""
FORMER_DEFAULTS = ("ib", "^docker,lo", "docker", "lo")
"""Those of NCCL before 2.28."""


def socket_interfaces(reader: Reader, settings: Mapping[str, str], *, former: bool = False) -> tuple[str, ...]:
    """The interfaces of a machine that sockets use under its settings, in NCCL's order; `former`: before 2.28."""
    names = addressed(reader, settings.get(FAMILY), running=not former)
    return choose(names, settings.get(NAMES), FORMER_DEFAULTS if former else DEFAULTS)


def choose(names: Sequence[str], setting: str | None, defaults: Iterable[str] = DEFAULTS) -> tuple[str, ...]:
    """The interfaces to use, out of those that have an address, in the order given.

    `setting` is NCCL_SOCKET_IFNAME: prefixes separated by commas; `=` wants exact names, `^` excludes. Without it, or
    with one character (`ncclFindInterfaces`): those named ib*, else all but docker*, lo and virbr*, else docker*, else
    lo, else virbr*.
    """
    if setting and len(setting) > 1:
        return _unique(name for name in names if matches(name, setting))
    for default in defaults:
        found = _unique(name for name in names if matches(name, default))
        if found:
            return found
    return ()


def matches(name: str, setting: str) -> bool:
    """Whether a setting selects one interface, such as `eth,ib`, `=eth0` or `^docker`.

    An entry ends at a colon (`eth0:1` is eth0), entries after the 16th are not read, and a list without any names every
    interface: `=,` selects all, `^=` none.
    """
    exclude, exact = setting.startswith("^"), setting.removeprefix("^").startswith("=")
    parts = (part.partition(":")[0] for part in setting.removeprefix("^").removeprefix("=").split(","))
    wanted = [part for part in parts if part][:MAX_INTERFACES]
    hit = not wanted or any(name == part if exact else name.startswith(part) for part in wanted)
    return hit != exclude


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))[:MAX_INTERFACES]
