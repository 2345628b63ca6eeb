# SPDX-License-Identifier: Apache-2.0
"""A GPU without the chip-to-chip link that its siblings have, or with a slower one."""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import C2C_UNEVEN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.nvlinks import gpus, sm
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement


def _check(file: Machine) -> Iterator[Finding]:
    speeds: dict[tuple[str, int], float] = {}
    for link in file.topology.placed("c2c"):
        mb_per_s = (link.number("bw") or 0) * (link.number("count") or 0)  # `ncclTopoAddC2c`
        speeds[link.key] = mb_per_s / 1000
    best: dict[tuple[str, int], float] = {}
    for key, gpu in gpus(file).items():
        best[_kind(gpu)] = max(best.get(_kind(gpu), 0.0), speeds.get(key, 0.0))
    for key, gpu in gpus(file).items():
        if (here := speeds.get(key, 0.0)) < (there := best[_kind(gpu)]):
            yield RULE.at(
                gpu,
                Level.WARN,
                f"{here:g} GB/s of C2C to the CPU; a sibling has {there:g} GB/s",
                effect="this GPU reaches the CPU's NICs and memory over PCI" if not here else "",
                gb_per_s=here,
                sibling_gb_per_s=there,
            )


def _kind(gpu: PlacedElement) -> tuple[str, int]:
    return gpu.host, sm(gpu)


RULE = TopologyFileRule(card=C2C_UNEVEN, check=_check)
