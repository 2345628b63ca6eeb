# SPDX-License-Identifier: Apache-2.0
"""Which RDMA ports NCCL's IB plugin may use: NCCL_IB_HCA, NCCL_IB_DISABLE and NCCL_NET.

NCCL's functions: `ncclIbInitDevices`, `parseStringList`, `matchIfList` of 2.30.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.topo.values.number import atoi

MAX_ENTRIES = 32  # MAX_IB_DEVS
MAX_PREFIX = 63  # netIf.prefix without its end
Port = tuple[str, int]


class HcaEntry(NamedTuple):
    """One entry of the list, mlx5_0:1:rail:plane, as written and parsed; None is any port, no rail, no plane."""

    text: str
    prefix: str
    port: int | None = None
    rail: int | None = None
    plane: int | None = None


class HcaFilter(NamedTuple):
    """NCCL_IB_HCA: entries to use (or to leave out, with `exclude`), by prefix or by exact name."""

    exclude: bool
    exact: bool
    entries: tuple[HcaEntry, ...]

    def entry(self, name: str, port: int) -> HcaEntry | None:
        """The first entry that names the port."""
        return next((entry for entry in self.entries if self.matches(entry, name, port)), None)

    def matches(self, entry: HcaEntry, name: str, port: int) -> bool:
        """Whether an entry names the port."""
        named = name == entry.prefix if self.exact else name.startswith(entry.prefix)
        return named and entry.port in (None, port)

    def takes(self, name: str, port: int) -> bool:
        """Whether NCCL may use the port. An empty list names every port, so "^" alone leaves none."""
        return (not self.entries or self.entry(name, port) is not None) != self.exclude


def parse_hca(setting: str | None) -> HcaFilter:
    """Parse NCCL_IB_HCA: `^` is looked for first, then `=`, each once and at the head of the whole list only."""
    text = setting or ""
    exclude = text.startswith("^")
    text = text[exclude:]
    exact = text.startswith("=")
    entries = (_entry(part) for part in text[exact:].split(","))
    return HcaFilter(exclude=exclude, exact=exact, entries=tuple(e for e in entries if e.prefix)[:MAX_ENTRIES])


def _entry(text: str) -> HcaEntry:
    prefix, *numbers = text.split(":")
    port, rail, plane = (_number(part) for part in [*numbers, "", "", ""][:3])
    return HcaEntry(text=text, prefix=prefix[:MAX_PREFIX], port=port, rail=rail, plane=plane)


def _number(text: str) -> int | None:
    """A port, rail or plane; absent and -1 are the same to NCCL."""
    return None if not text or atoi(text) == -1 else atoi(text)


def matched(hca: HcaFilter, ports: Iterable[Port]) -> tuple[tuple[HcaEntry, tuple[Port, ...]], ...]:
    """Each entry with the ports it names."""
    known = tuple(ports)
    return tuple((entry, tuple(port for port in known if hca.matches(entry, *port))) for entry in hca.entries)


def hca_remarks(hca: HcaFilter, ports: Iterable[Port]) -> tuple[str, ...]:
    """Remarks on entries that match nothing, and on prefixes that match several devices."""
    remarks = []
    for entry, named in matched(hca, ports):
        devices = sorted({name for name, _ in named})
        if not named:
            remarks.append(f"NCCL_IB_HCA: {entry.text!r} matches no port of this machine")
        elif len(devices) > 1 and entry.prefix in devices:
            remarks.append(
                f"NCCL_IB_HCA: {entry.text!r} is a prefix and matches {', '.join(devices)}; use '=' for exact names"
            )
    return tuple(remarks)


def plugin_off(environment: Mapping[str, str]) -> str | None:
    """The setting that disables NCCL's IB plugin; None without one."""
    if parameter(environment, "NCCL_IB_DISABLE", 0):
        return f"NCCL_IB_DISABLE={environment['NCCL_IB_DISABLE']}"
    network = environment.get("NCCL_NET")
    if wants_plugin(environment):
        return f"NCCL_NET={network} (a plugin: NCCL's own are IB and Socket)"
    return f"NCCL_NET={network}" if network and network.lower() != "ib" else None


def wants_plugin(environment: Mapping[str, str]) -> bool:
    """Whether NCCL_NET names a plugin that is not NCCL's own; NCCL does not start without it."""
    return environment.get("NCCL_NET", "").lower() not in ("", "ib", "socket")
