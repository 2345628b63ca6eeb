# SPDX-License-Identifier: Apache-2.0
"""GPUs and NICs on another NUMA node in the file than on the machine."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import DEVICE_MISPLACED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.present import on_machine
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement


def _check(file: Machine) -> Iterator[Finding]:
    real = {pci.key[1]: _node(pci) for pci in on_machine(file, "pci")}
    moved: dict[tuple[str, str], list[PlacedElement]] = {}
    for pci in file.topology.placed("pci"):
        here, there = _node(pci), real.get(pci.key[1], "-1")
        if (pci.is_gpu or pci.is_nic) and there not in ("-1", here):
            moved.setdefault((here, there), []).append(pci)
    yield from (_finding(devices, here, there) for (here, there), devices in moved.items())


def _finding(devices: list[PlacedElement], here: str, there: str) -> Finding:
    names = [device.bus_id for device in devices]
    return RULE.at(
        devices[0],
        Level.WARN,
        f"{', '.join(names)}: on NUMA node {here} in the file, on node {there} on the machine",
        effect="NCCL treats near NICs and cores as far, and far ones as near",
        devices=names,
        lines=[device.line for device in devices],
        file_numaid=here,
        machine_numaid=there,
    )


def _node(placed: PlacedElement) -> str:
    cpu = placed.nearest("cpu")
    return (cpu.get("numaid") if cpu else None) or "-1"


RULE = TopologyFileRule(card=DEVICE_MISPLACED, check=_check)
