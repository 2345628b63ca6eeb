# SPDX-License-Identifier: Apache-2.0
"""An IOMMU that translates the DMA of GPUs and NICs."""

from collections.abc import Iterator

from railgauge.topo.facts.sources.iommu import IDENTITY
from railgauge.topo.findings.cards.pcie import IOMMU_TRANSLATING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import gpus, has_peers, nics
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine

TRANSLATED = "DMA"  # the kernel's names: DMA, and DMA-FQ with deferred unmapping


def _check(machine: Machine) -> Iterator[Finding]:
    iommu = machine.sources.iommu
    if not iommu.groups:
        if not iommu.looked:
            yield RULE.unknown(machine.host, "the use of an IOMMU was not captured (/sys/kernel/iommu_groups)")
        return
    devices = [one.bus_id for one in (*gpus(machine), *nics(machine))]
    groups = {bus_id: group for bus_id in devices if (group := iommu.by_device.get(bus_id))}
    kinds = {bus_id: group.kind for bus_id, group in groups.items()}
    translated = [bus_id for bus_id, kind in kinds.items() if (kind or "").startswith(TRANSLATED)]
    if translated:
        yield _finding(machine, translated, sorted({str(kinds[bus_id]) for bus_id in translated}))
    unknown = [bus_id for bus_id, kind in kinds.items() if kind is None]
    if unknown:
        yield RULE.unknown(unknown[0], f"the type of the IOMMU groups of {len(unknown)} devices cannot be read")


def _finding(machine: Machine, devices: list[str], kinds: list[str]) -> Finding:
    harmless = _is_coherent(machine) or not _sends_to_peers(machine)
    return RULE.finding(
        Level.INFO if harmless else Level.WARN,
        devices[0],
        f"DMA of {len(devices)} GPUs and NICs is translated ({', '.join(kinds)}): {', '.join(devices[:4])}"
        + (" ..." if len(devices) > 4 else ""),
        effect="" if harmless else RULE.card.effect,
        types=kinds,
        identity=IDENTITY,
        devices=devices,
    )


def _is_coherent(machine: Machine) -> bool:
    return any(gpu.c2c for gpu in machine.sources.gpus)


def _sends_to_peers(machine: Machine) -> bool:
    """Whether there is traffic between devices: GPUs with peer access, or GPUs and NICs."""
    answers = [(read, write) for gpu in machine.sources.gpus for _, read, write in gpu.p2p]
    return bool(nics(machine)) or not answers or (0, 0) in answers


RULE = Rule(card=IOMMU_TRANSLATING, needs=(Need.MACHINE, Need.PCI), concerns=has_peers, check=_check)
