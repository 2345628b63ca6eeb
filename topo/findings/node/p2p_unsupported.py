# SPDX-License-Identifier: Apache-2.0
"""Pairs of GPUs that may not read or write each other's memory."""

from collections.abc import Iterator
from itertools import combinations

from railgauge.topo.facts.sources.nvml import NvmlGpu
from railgauge.topo.findings.cards.gpus import P2P_UNSUPPORTED
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.model import PATH_TYPES, Node

OK = 0
WORDS = {  # nvmlGpuP2PStatus_t, and the letters of nvidia-smi topo -p2p
    1: "not supported by the chipset (CNS)",
    2: "not supported by the GPU (GNS)",
    3: "not supported by the topology (TNS)",
    4: "disabled in the registry (DR)",
    5: "not supported (NS)",
}
NEAR = PATH_TYPES.index("PXB")
BY_DESIGN = ("geforce", "titan", "rtx")  # consumer and workstation models, distinguished only by name


def _check(machine: Machine) -> Iterator[Finding]:
    gpus = machine.sources.gpus
    answers = {(gpu.index, other): (read, write) for gpu in gpus for other, read, write in gpu.p2p}
    denied: dict[tuple[Level, int | None], list[tuple[NvmlGpu, NvmlGpu]]] = {}
    for one, other in combinations(gpus, 2):
        read, write = answers.get((one.index, other.index), (None, None))
        status = read if read != OK else write
        if status != OK:
            denied.setdefault((_level(machine, one, other, status), status), []).append((one, other))
    for (level, status), pairs in denied.items():
        yield _finding(level, status, pairs)


def _finding(level: Level, status: int | None, pairs: list[tuple[NvmlGpu, NvmlGpu]]) -> Finding:
    named = [f"GPU{one.index}-GPU{other.index}" for one, other in pairs]
    why = WORDS.get(status or 0, "NVML gives no reason")
    listed = f"{', '.join(named[:4])}{' ...' if len(named) > 4 else ''}"
    if status is None:
        return RULE.unknown(named[0], f"NVML gave no answer on peer access of {listed}", pairs=named)
    return RULE.finding(
        level,
        named[0],
        f"no peer access between {len(named)} {'pair' if len(named) == 1 else 'pairs'} of GPUs ({listed}): {why}",
        effect=RULE.card.effect,
        status=status,
        pairs=named,
    )


def _level(machine: Machine, one: NvmlGpu, other: NvmlGpu, status: int | None) -> Level:
    """A fault only for data-centre GPUs joined by NVLink or below one switch, and not in a VM."""
    if status is None:
        return Level.UNKNOWN
    guest = bool(machine.facts and machine.facts.host.virtual)
    if any(word in (gpu.name or "").lower() for gpu in (one, other) for word in BY_DESIGN) or one.mig or other.mig:
        return Level.INFO
    nodes = {gpu.bus_id: gpu for gpu in machine.system.gpus}
    ends = nodes.get(one.bus_id), nodes.get(other.bus_id)
    return Level.WARN if _is_near(machine, *ends) and not (guest and status != 4) else Level.INFO


def _is_near(machine: Machine, one: Node | None, other: Node | None) -> bool:
    return one is not None and other is not None and _distance(machine, one, other) <= NEAR


def _distance(machine: Machine, one: Node, other: Node) -> int:
    return PATH_TYPES.index(machine.paths.wired(one.id, other.id).type)


RULE = Rule(
    card=P2P_UNSUPPORTED,
    needs=(Need.MACHINE, Need.NVML),
    concerns=lambda machine: machine.facts is None or len(machine.facts.gpus) > 1,
    check=_check,
)
