# SPDX-License-Identifier: Apache-2.0
"""What a value may be, by the word that stands for it in the help: FILE, MACHINE, DEVICE, ID, a|b|c.

Only fast sources: names in folders of sysfs for this machine, the file or fixture that --from names for another.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping

from railgauge.topo.errors import Error

Candidate = tuple[str, str]
"""A value, and a sentence about it or ""."""
MOST_BYTES = 4 << 20
"""A larger file is not read while somebody types."""


def values(kind: str, last: str, source: str | None) -> list[Candidate]:
    """The values that begin as the last word does. `kind`: what the help calls them; `source`: what --from names."""
    if kind in FILES:
        return list(_files(last, folders=kind == "FOLDER"))
    if "|" in kind:
        found: Iterable[Candidate] = ((one, "") for one in kind.split("|"))
    elif kind == "LIST":
        begun = last.rpartition(",")[0]
        found = ((f"{begun}{',' if begun else ''}{name}", text) for name, text in _gpus(source))
    elif kind in MACHINES:
        found = (*_machines(), *(() if last.startswith("@") else _files(last)))
    elif kind in DEVICES:
        found = DEVICES[kind](source)
    else:
        found = OTHERS[kind]() if kind in OTHERS else ()
    return [one for one in found if one[0].startswith(last)]


def _files(last: str, *, folders: bool = False) -> Iterator[Candidate]:
    """Paths that begin so; folders end with a slash."""
    folder, begun = os.path.split(last)
    try:
        with os.scandir(os.path.expanduser(folder) or ".") as entries:
            named = sorted((entry.name, entry.is_dir()) for entry in entries)
    except OSError:
        return
    for name, is_folder in named:
        if name.startswith(begun) and (begun or not name.startswith(".")) and (is_folder or not folders):
            yield os.path.join(folder, name) + ("/" if is_folder else ""), ""


def _machines() -> Iterator[Candidate]:
    from railgauge.cli.machines import about_fixtures

    yield "live", "this machine"
    yield from ((f"@{name}", text) for name, text in about_fixtures().items())


def _gpus(source: str | None) -> list[Candidate]:
    return [(name.removeprefix("GPU"), "") for name, _ in _devices(source, ("GPU",))]


def _devices(source: str | None, kinds: tuple[str, ...] = ("GPU", "NIC", "NUMA", "NVS")) -> list[Candidate]:
    """The names of devices: GPU0, mlx5_0, NUMA0, NVS."""
    if source in (None, "", "live"):
        return [(name, "") for kind, name in _live_devices() if kind in kinds]
    try:
        return [(name, "") for kind, name in _devices_of(str(source)) if kind in kinds]
    except (Error, OSError):
        return []


def _live_devices() -> Iterator[tuple[str, str]]:
    """Of this machine, from names in sysfs alone."""
    from railgauge.topo.facts.reader import LiveReader
    from railgauge.topo.facts.sources.sysfs_infiniband import CLASS
    from railgauge.topo.facts.sources.sysfs_pci import gpu_bus_ids

    reader = LiveReader()
    yield from (("GPU", f"GPU{number}") for number in range(len(gpu_bus_ids(reader))))
    yield from (("NIC", name) for name in sorted(reader.entries(CLASS)))
    nodes = (name.removeprefix("node") for name in reader.entries("/sys/devices/system/node"))
    yield from (("NUMA", f"NUMA{number}") for number in sorted(nodes) if number.isdecimal())


def _devices_of(source: str) -> Iterator[tuple[str, str]]:
    """Of a recorded or described machine."""
    from railgauge.topo.machine import load_machine
    from railgauge.topo.nccl.graph.ends import text_names
    from railgauge.topo.nccl.graph.model import NodeKind

    if not source.startswith("@") and (not os.path.isfile(source) or os.path.getsize(source) > MOST_BYTES):
        return
    system = load_machine(source, environment={}).system
    kinds = {NodeKind.GPU: "GPU", NodeKind.NET: "NIC", NodeKind.CPU: "NUMA", NodeKind.NVS: "NVS"}
    names = text_names(system)
    for kind, name in kinds.items():
        yield from ((name, names[node.id]) for node in system.kind(kind))


def _findings() -> Iterator[Candidate]:
    from railgauge.topo.findings.card import cards

    return ((card.id, card.title) for card in cards().values())


def _collectives() -> Iterator[Candidate]:
    from railgauge.topo.nccl.settings.algorithm import Collective

    return ((str(one.value), "") for one in Collective)


def _types() -> Iterator[Candidate]:
    from railgauge.collectives.dtype import Dtype

    return ((name, "") for name in (*(one.label for one in Dtype), "all"))


def _settings() -> Iterator[Candidate]:
    from railgauge.topo.nccl.settings.steering import MEANING

    return ((f"{name}=", text) for name, text in MEANING.items())


def _plain(*names: str) -> Callable[[], Iterator[Candidate]]:
    return lambda: ((name, "") for name in names)


FILES = ("FILE", "FOLDER", "OP|FILE", "FOLDER|FILE")
MACHINES = ("MACHINE", "BEFORE", "AFTER", "NODE")
DEVICES: Mapping[str, Callable[[str | None], list[Candidate]]] = {
    "DEVICE": _devices,
    "GPU": lambda source: _devices(source, ("GPU",)),
    "NIC": lambda source: _devices(source, ("NIC",)),
}
OTHERS: Mapping[str, Callable[[], Iterator[Candidate]]] = {
    "ID": _findings,
    "COLLECTIVE": _collectives,
    "TYPE": _types,
    "NAME=VALUE": _settings,
    "LEVEL": _plain("INFO", "WARN", "FAIL", "UNKNOWN"),
    "TRANSPORT": _plain("P2P", "SHM", "NET/Socket", "NET/IB"),
    "WHEN": _plain("auto", "always", "never"),
}
"""By what the help calls a value."""
