# SPDX-License-Identifier: Apache-2.0
"""Two snapshots of one machine as two readings of its error counters, in place of a second reading a second later."""

from collections.abc import Mapping

from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.reader import Facts, Reader
from railgauge.topo.facts.sources import gpu_health, port_errors
from railgauge.topo.facts.sources.gpu_health import GpuHealth

Counters = Mapping[tuple[str, str], int]
"""Counts by device ("mlx5_0:1", "0000:1b:00.0") and name of the counter."""


class ReaderOfTwo:
    """The reader of the later snapshot, with the second readings given."""

    def __init__(self, reader: Reader, later: Mapping[str, Facts | None]) -> None:
        self._reader = reader
        self._later = later
        self.problems = reader.problems

    def text(self, path: str) -> str | None:
        """See Reader."""
        return self._reader.text(path)

    def raw(self, path: str) -> str | None:
        """See Reader."""
        return self._reader.raw(path)

    def entries(self, path: str) -> tuple[str, ...]:
        """See Reader."""
        return self._reader.entries(path)

    def realpath(self, path: str) -> str | None:
        """See Reader."""
        return self._reader.realpath(path)

    def knows(self, path: str) -> bool:
        """See Reader."""
        return self._reader.knows(path)

    def facts(self, name: str) -> Facts | None:
        """See Reader."""
        return self._later[name] if name in self._later else self._reader.facts(name)


def take_counters(facts: MachineFacts) -> None:
    """Read the counters now: a snapshot reads each file when it is first asked for."""
    _ = facts.port_errors, facts.gpu_health


def paired(before: MachineFacts, now: MachineFacts, between_s: float) -> MachineFacts:
    """The facts of `now`, whose counters are those of `before`, and then those of `now` as the second reading.

    between_s: the seconds from one to the other.
    """
    ports = {
        "before": [port._asdict() for port in before.port_errors],
        "ports": [port._asdict() for port in now.port_errors],
        "between_ms": max(1, round(between_s * 1000)),
    }
    later = {port_errors.LATER: ports, gpu_health.LATER: now.reader.facts("gpu_health")}
    return now.but(reader=ReaderOfTwo(now.reader, later), gpu_health=before.gpu_health)


def rates(before: MachineFacts, now: MachineFacts, between_s: float) -> dict[tuple[str, str], float]:
    """Errors a second of the counters that both snapshots have; a counter below its earlier value was reset, to 0."""
    first, second = _counters(before), _counters(now)
    return {
        key: (count - first[key] if count >= first[key] else count) / between_s
        for key, count in second.items()
        if key in first
    }


def _counters(facts: MachineFacts) -> Counters:
    ports = {
        (f"{port.device}:{port.port}", name): count for port in facts.port_errors for name, count in port.counts.items()
    }
    gpus = {(gpu.bus_id, name): count for gpu in facts.gpu_health.gpus for name, count in _of_gpu(gpu).items()}
    return ports | gpus


def _of_gpu(gpu: GpuHealth) -> dict[str, int]:
    """The error counters of a GPU; those of its NVLinks by link."""
    links = {f"nvlink{link}_{name}": count for link, counts in enumerate(gpu.nvlinks) for name, count in counts.items()}
    ecc = {f"ecc_{name}": count for name, count in gpu.ecc.items() if count is not None}
    replays = {} if gpu.pcie_replays is None else {"pcie_replays": gpu.pcie_replays}
    return {name: count for name, count in (ecc | links | replays).items() if not name.endswith("_ber")}
