# SPDX-License-Identifier: Apache-2.0
"""GPUs with the same rank or the same NVML index on a host, and ranks with gaps.

NCCL overrides the file's ranks; railgauge and `ncclTopoDevToRank` use them.
"""

from collections.abc import Iterator

from railgauge.topo.findings.cards.topology_file import GPU_NUMBERING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.topology_file.rule import TopologyFileRule
from railgauge.topo.machine import Machine
from railgauge.topo.xml.placed_element import PlacedElement

IN_ORDER = "ranks are numbered in the file's order instead"


def _check(file: Machine) -> Iterator[Finding]:
    ranks: dict[int, PlacedElement] = {}
    devs: dict[tuple[str, int], PlacedElement] = {}
    for gpu in file.topology.placed("gpu"):
        rank, dev = gpu.number("rank"), gpu.number("dev")
        if rank is not None and rank >= 0 and (known := ranks.setdefault(rank, gpu)) is not gpu:
            yield _taken(gpu, known, "rank", rank, IN_ORDER)
        if dev is not None and (known := devs.setdefault((gpu.host, dev), gpu)) is not gpu and known.key != gpu.key:
            yield _taken(gpu, known, "dev", dev, "NCCL finds only the first one by dev")
    if ranks and sorted(ranks) != list(range(len(ranks))):
        first = next(iter(ranks.values()))
        listed = ", ".join(map(str, ranks))
        yield RULE.at(first, Level.INFO, f"the ranks are {listed}", effect=IN_ORDER, ranks=list(ranks))


def _taken(gpu: PlacedElement, known: PlacedElement, key: str, value: int, effect: str) -> Finding:
    message = f"{key} {value} also at {known.bus_id} (line {known.line})"
    return RULE.at(gpu, Level.WARN, message, effect=effect, attribute=key, value=value, lines=[known.line, gpu.line])


RULE = TopologyFileRule(card=GPU_NUMBERING, check=_check)
