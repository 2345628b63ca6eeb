# SPDX-License-Identifier: Apache-2.0
"""What rules about the health of GPUs share: each GPU is judged by a reading, and UNKNOWN names those without it."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from railgauge.topo.facts.sources.gpu_health import GpuHealth, GpuHealthReading, read_gpu_health_later
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.machine import Machine


class GpuReadings(NamedTuple):
    """The GPUs of a machine at one time, and those at a later one by bus id, with the seconds between them."""

    first: GpuHealthReading
    later: GpuHealthReading | None = None

    @property
    def seconds(self) -> float:
        """Seconds between the readings; 0 where there is one, or its time is unknown."""
        times = (self.first.at_ms, self.later.at_ms if self.later else None)
        return (times[1] - times[0]) / 1000 if times[0] is not None and times[1] is not None else 0.0

    def again(self, gpu: GpuHealth) -> GpuHealth | None:
        """The later readings of a GPU; None where there are none, or no time between them."""
        if self.later is None or self.seconds <= 0:
            return None
        return next((one for one in self.later.gpus if one.bus_id == gpu.bus_id), None)


def once(machine: Machine) -> GpuReadings:
    """One reading."""
    return GpuReadings(first=machine.sources.gpu_health)


def twice(machine: Machine) -> GpuReadings:
    """Two readings, if they were taken."""
    later = read_gpu_health_later(machine.reader) if machine.reader and machine.sources.gpu_health.gpus else None
    return GpuReadings(first=machine.sources.gpu_health, later=later)


def unread(
    rule: Rule,
    machine: Machine,
    reading: str,
    known: Callable[[GpuHealth], bool],
    among: Iterable[GpuHealth] | None = None,
) -> Iterator[Finding]:
    """UNKNOWN for GPUs whose reading is missing, once for each reason, and for those without any."""
    health = machine.sources.gpu_health
    silent: dict[str, list[str]] = {}
    for gpu in health.gpus if among is None else among:
        if not known(gpu):
            silent.setdefault(gpu.reasons.get(reading, "not captured"), []).append(gpu.name)
    if among is None and not health.error:
        known_ids = {gpu.bus_id for gpu in health.gpus}
        missing = [f"GPU{gpu.index} ({gpu.bus_id})" for gpu in machine.sources.gpus if gpu.bus_id not in known_ids]
        if missing:
            silent.setdefault("not captured", []).extend(missing)
    for why, names in silent.items():
        yield rule.unknown(names[0], f"NVML: {why} ({', '.join(names)})", gpus=names)
    if health.error:
        yield rule.unknown(machine.host, health.error)


def has_health(machine: Machine) -> bool:
    """Whether there are GPUs whose health can be asked for; a topology file may have some."""
    return machine.facts is None or has_gpus(machine) or bool(machine.sources.gpu_health.gpus)


def by_model(machine: Machine) -> list[list[GpuHealth]]:
    """The GPUs whose health is known, model by model."""
    models: dict[str | None, list[GpuHealth]] = {}
    for gpu in machine.sources.gpu_health.gpus:
        known = machine.sources.gpu(gpu.bus_id)
        models.setdefault(known.name if known else None, []).append(gpu)
    return list(models.values())
