# SPDX-License-Identifier: Apache-2.0
"""The machines that the hosts of a job are: one that stands for all of them, or the captures of a cluster."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from railgauge.topo.errors import Error, UsageError
from railgauge.topo.facts.capture import loads
from railgauge.topo.files.compression import MAX_TOTAL, is_archive
from railgauge.topo.files.input_file import read_bytes
from railgauge.topo.findings.cluster.fingerprint import fingerprint
from railgauge.topo.findings.cluster.folder import NodeFile
from railgauge.topo.machine import Machine, load_machine
from railgauge.topo.values.node_names import folded


class JobMachines:
    """The machine of each host, read when something first asks for it."""

    def __init__(self, every: Machine | None = None, files: Sequence[NodeFile] = ()) -> None:
        """`every` is what each host is; `files` are the nodes of a cluster (`cluster dump -o`), by name."""
        self._every = every
        self._files = _by_host(files)
        self._nodes = folded(name for name, _ in files)
        self._alike: dict[str, Machine] = {}
        self._read = cache(self._loaded)

    @property
    def is_cluster(self) -> bool:
        """Whether each host has a machine of its own."""
        return bool(self._files)

    @property
    def is_known(self) -> bool:
        """Whether there is any machine."""
        return self._every is not None or self.is_cluster

    def of(self, host: str) -> Machine | None:
        """The machine of a host; None if it is unknown."""
        return self._every or self._read(host)[0]

    def alike(self, host: str) -> Machine:
        """The same, or one that is equal but for names and counters: a plan for it holds. UsageError if unknown."""
        if self._every:
            return self._every
        machine, mark = self._read(host)
        if machine is None:
            raise UsageError(f"{host}: {mark}")
        return self._alike.setdefault(mark, machine)

    def unknown(self, hosts: Iterable[str]) -> list[tuple[str, str]]:
        """The hosts of a cluster's job whose machine is unknown, folded, with the reason."""
        by_reason: dict[str, list[str]] = {}
        for host in hosts if self._files else ():
            machine, why = self._read(host)
            if machine is None:
                by_reason.setdefault(why, []).append(host)
        return [(folded(names), why) for why, names in by_reason.items()]

    def _loaded(self, host: str) -> tuple[Machine | None, str]:
        """The machine and what equal ones share; else None and the reason."""
        path = self._files.get(host) or self._files.get(_short(host))
        if not path:
            return None, f"no file of it in the folder, which has {self._nodes}"
        try:
            data = read_bytes(path, MAX_TOTAL, packed=True)
            if not is_archive(data):
                return load_machine(path), hashlib.sha256(data).hexdigest()
            capture = loads(data, path)
            return load_machine(capture), fingerprint(capture)
        except Error as error:
            return None, str(error)


def _by_host(files: Sequence[NodeFile]) -> Mapping[str, str]:
    """The files by the nodes' names, and by the first label of a name where no other node has that."""
    short: dict[str, list[str]] = {}
    for name, path in files:
        short.setdefault(_short(name), []).append(path)
    return {name: paths[0] for name, paths in short.items() if len(paths) == 1} | dict(files)


def _short(host: str) -> str:
    """The first label of a name; an address is whole."""
    label = host.partition(".")[0]
    return host if label.isdigit() else label
