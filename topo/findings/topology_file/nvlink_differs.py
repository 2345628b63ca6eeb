# SPDX-License-Identifier: Apache-2.0
"""A GPU whose NVLinks in the file differ from the machine: NCCL asks NVML only if the file names none."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import NVLINK_DIFFERS
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.nvlinks import count, gpus
from railgauge.topo.findings.topology_file.nvlinks import link as link_of
from railgauge.topo.findings.topology_file.present import on_machine
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement


def _check(file: Machine) -> Iterator[Finding]:
    if file.beside is None:
        return
    wired = {key: gpu for key, gpu in gpus(file).items() if gpu.holds("nvlink")}
    if wired and (why := _unanswered(file.beside)):
        message = f"the NVLinks of the machine are unknown: {why}; check that nvidia-smi answers"
        first = next(iter(wired.values()))
        yield RULE.at(first, Level.UNKNOWN, message, fix=False, missing="NVML")
        return
    yield from _compare(wired, file)


def _unanswered(machine: Machine) -> str | None:
    """Why NVML gave no data; None if it did, or if a topology file stands in for the machine."""
    nvml = machine.reader.facts("nvml") if machine.reader else None
    return None if nvml is None else nvml.get("error")


def _compare(wired: dict[tuple[str, int], PlacedElement], file: Machine) -> Iterator[Finding]:
    real = {gpu.key[1]: gpu for gpu in on_machine(file, "gpu")}
    for key, gpu in wired.items():
        there = real.get(key[1])
        if there is None or (one := _links(gpu)) == (other := _links(there)):
            continue
        wires = link_of(there)
        yield RULE.at(
            gpu,
            Level.WARN,
            f"{one} {wires.name} in the file, {other} on the machine",
            effect=f"NCCL plans with {one * wires.gb_per_s:g} GB/s instead of {other * wires.gb_per_s:g} GB/s",
            file=one,
            machine=other,
        )


def _links(gpu: PlacedElement) -> int:
    return sum(map(count, gpu.below("nvlink")))


RULE = TopologyFileRule(card=NVLINK_DIFFERS, check=_check)
