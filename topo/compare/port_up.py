# SPDX-License-Identifier: Apache-2.0
"""A machine with RDMA ports up that are down: scanned again, since NCCL numbers NICs as it finds them."""

from collections.abc import Mapping
from dataclasses import replace

from railgauge.topo.errors import UnavailableError
from railgauge.topo.facts.reader import Facts, Reader
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.detect.scan import scan

UP = {"state": "4: ACTIVE", "phys_state": "5: LinkUp"}


class _OtherTexts:
    """A reader that answers some paths otherwise."""

    def __init__(self, reader: Reader, texts: Mapping[str, str]) -> None:
        self._reader, self._texts = reader, texts
        self.problems: dict[str, str] = {}

    def text(self, path: str) -> str | None:
        return self._texts.get(path) or self._reader.text(path)

    def raw(self, path: str) -> str | None:
        return self._texts.get(path) or self._reader.raw(path)

    def entries(self, path: str) -> tuple[str, ...]:
        return self._reader.entries(path)

    def realpath(self, path: str) -> str | None:
        return self._reader.realpath(path)

    def facts(self, name: str) -> Facts | None:
        return self._reader.facts(name)

    def knows(self, path: str) -> bool:
        return self._reader.knows(path)


def with_ports_up(machine: Machine, ports: Mapping[tuple[str, int], str]) -> Machine:
    """The machine with those ports (device, number) up, each at a rate as sysfs spells it.

    UnavailableError where a scan does not give its topology: of a topology file, or of a part of the GPUs.
    """
    reader = machine.reader
    if reader is None or scan(reader, machine.environment).topology.root != machine.topology.root:
        raise UnavailableError("the topology is not the one that a scan of the whole machine gives")
    texts: dict[str, str] = {}
    for (device, number), rate in ports.items():
        folder = f"{CLASS}/{device}/ports/{number}"
        texts |= {f"{folder}/{name}": text for name, text in (UP | {"rate": rate}).items()}
    found = scan(_OtherTexts(reader, texts), machine.environment)
    return replace(machine, topology=found.topology)
