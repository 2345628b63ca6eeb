# SPDX-License-Identifier: Apache-2.0
"""NCCL's decision on GPUDirect RDMA as findings, one for each pair of a GPU and a NIC.

PASS: both directions would use it. FAIL: a GPU could not use it with its own NIC. WARN: a setting forbids it there,
or a nearer NIC is not in use. INFO: not with a NIC that NCCL would not take for it, or not supported by the machine.
A PASS is about the decision, not about a transfer: transfers.py.
"""

from collections.abc import Container, Sequence
from functools import cache, partial
from typing import Any

from railgauge.topo.findings.cards.gdr import GPU_DIRECT_RDMA
from railgauge.topo.findings.file_rule import guarded
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.gdr.pairs import GdrPair
from railgauge.topo.findings.node.effect import once_fixed, priced
from railgauge.topo.findings.node.peers import below_one_switch, has_gpus, nics
from railgauge.topo.findings.node.rule import Need, missing
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.paths.gpudirect import GdrCondition, GpuDirect
from railgauge.topo.nccl.settings.hca import plugin_off

CONSUMER = "GeForce"  # NVIDIA's GPUDirect RDMA documentation: data-center and professional GPUs only
LEVEL_SETTING = "NCCL_NET_GDR_LEVEL"


def findings(
    machine: Machine,
    pairs: Sequence[GdrPair],
    tried: Container[GdrPair] = (),
    asked: Sequence[GdrPair] | None = None,
) -> tuple[Finding, ...]:
    """One for each pair, or for the requested ones; one for the machine if there is no pair.

    pairs: all of the machine, since a cause such as a missing module is fixed for all of them.
    tried: those whose transfer was measured as well.
    """
    if not pairs:
        return (_without_pairs(machine),)
    models = {gpu.bus_id: gpu.name or "" for gpu in machine.sources.gpus}
    broken = sorted({pair.net.name or pair.net.id for pair in pairs if pair.used and pair.nic[0] is False})

    @cache
    def effect() -> str:
        return once_fixed(machine, [f"{nic}.gdr=1" for nic in broken]) if broken else ""

    def judged(pair: GdrPair) -> list[Finding]:
        found = _finding(machine, pair, models.get(pair.gpu.bus_id or "", ""), pair in tried)
        off = {way.failed for way in pair.ways if not way.on}
        return [priced(found, effect) if found.level is Level.FAIL and GdrCondition.NIC in off else found]

    wanted = pairs if asked is None else asked
    return tuple(found for pair in wanted for found in guarded(GPU_DIRECT_RDMA.id, name(pair), partial(judged, pair)))


def name(pair: GdrPair) -> str:
    """A pair as text: "GPU0 mlx5_0"."""
    host = f"{pair.gpu.system}." if pair.gpu.system else ""
    return f"GPU{host}{pair.gpu.dev} {pair.net.name or f'NIC{pair.net.dev}'}"


def _without_pairs(machine: Machine) -> Finding:
    inventory = machine.facts
    if not machine.system.gpus:
        unread = missing(Need.NVML, machine) if has_gpus(machine) else ""
        level, message = (Level.UNKNOWN, unread) if unread else (Level.INFO, "no GPU found")
    elif inventory is None or not inventory.rdma:
        level, message = Level.INFO, "no RDMA device found: NCCL uses sockets, without GPUDirect RDMA"
    elif inventory.is_plugin_network:
        level = Level.UNKNOWN
        message = (
            "NCCL uses such RDMA devices (EFA) through a network plugin, such as aws-ofi-nccl, which decides itself"
        )
    elif off := plugin_off(machine.settings):
        level, message = Level.WARN, f"{off} keeps NCCL from the RDMA devices"
    else:
        level = Level.FAIL
        message = "NCCL uses none of the RDMA devices; for the reasons run railgauge topo show --view rdma"
    return GPU_DIRECT_RDMA.finding(level, machine.host or "machine", message, fix=False, host=machine.host)


def _finding(machine: Machine, pair: GdrPair, model: str, tried: bool) -> Finding:
    off = [way for way in pair.ways if not way.on]
    idle = _nearer(machine, pair) if GdrCondition.TOO_FAR in {way.failed for way in off} else []
    level = _level(pair, model, idle)
    beside = f"; {', '.join(idle)} is nearer, but NCCL does not use it" if idle else ""
    causes = {way.failed for way in off}
    return GPU_DIRECT_RDMA.finding(
        level,
        name(pair),
        pair.unknown or _message(pair, model) + beside,
        fix=pair.used and not pair.unknown and causes != {GdrCondition.GPU},
        host=machine.host,
        evidence=_evidence(machine, pair, tried) | {"nearer_idle": idle},
    )


def _level(pair: GdrPair, model: str, idle: list[str]) -> Level:
    failed = {way.failed for way in pair.ways if not way.on}
    if pair.unknown:
        return Level.UNKNOWN
    if not failed:
        return Level.PASS
    if not pair.used or failed == {GdrCondition.OLD_GPU} or (failed == {GdrCondition.GPU} and CONSUMER in model):
        return Level.INFO
    if failed & {GdrCondition.NIC, GdrCondition.GPU}:
        return Level.FAIL
    return Level.WARN if idle or _is_forbidden(pair) else Level.INFO


def _is_forbidden(pair: GdrPair) -> bool:
    """Whether a setting forbids it, not the machine."""
    off = [way for way in pair.ways if not way.on]
    set_level = any(way.failed is GdrCondition.TOO_FAR and way.level.source.startswith(LEVEL_SETTING) for way in off)
    return set_level or any(way.failed is GdrCondition.READ_DISABLED for way in off)


def _nearer(machine: Machine, pair: GdrPair) -> list[str]:
    """RDMA devices below one switch with the GPU that NCCL does not use: down, or left out."""
    inventory, taken = machine.facts, {net.name for net in machine.system.nets}
    gpu = inventory.function(pair.gpu.bus_id) if inventory else None
    if inventory is None or gpu is None:
        return []
    near = {nic.bus_id for nic in nics(machine) if below_one_switch(gpu, nic)}
    return [device.name for device in inventory.rdma if device.bus_id in near and device.name not in taken]


def _message(pair: GdrPair, model: str) -> str:
    sending, receiving = pair.ways
    if sending.on and receiving.on:
        return f"would be used: {sending.distance} is within {_reach(sending)}{_by(sending)}"
    if not sending.on and not receiving.on:
        return f"would not be used: {_why(pair, receiving, model)}{_other(pair)}"
    way, off = ("sending", sending) if receiving.on else ("receiving", receiving)
    return f"would not be used for {way}: {_why(pair, off, model)}{_other(pair)}"


def _reach(way: GpuDirect) -> str:
    return f"{way.level.type} ({way.level.source})"


def _by(way: GpuDirect) -> str:
    relayed = " through the peer GPU near the NIC (PXN)" if way.relay else ""
    return relayed + (", with its memory mapped over PCIe, not over the chip-to-chip link" if way.pci_mapping else "")


def _other(pair: GdrPair) -> str:
    return "" if pair.used else "; NCCL would take another NIC for this GPU"


def _why(pair: GdrPair, way: GpuDirect, model: str) -> str:
    reasons = {
        GdrCondition.NIC: pair.nic[1],
        GdrCondition.GPU: f"the GPU{f', {model},' if model else ''} does not support GPUDirect RDMA",
        GdrCondition.READ_DISABLED: "NCCL_NET_GDR_READ=0",
        GdrCondition.OLD_GPU: "NCCL does not read from a GPU before sm 80 without NVLink",
        GdrCondition.TOO_FAR: f"{way.distance} is beyond {_reach(way)}{_by(way)}",
    }
    return reasons[way.failed] if way.failed else ""


def _evidence(machine: Machine, pair: GdrPair, tried: bool) -> dict[str, Any]:
    gdr = machine.facts.gdr if machine.facts else None
    return {
        "gpu": pair.gpu.bus_id,
        "nic": pair.net.name,
        "used_by_nccl": pair.used,
        "send": _direction(pair.sending),
        "receive": _direction(pair.receiving),
        "distance": pair.sending.distance,
        "level": pair.sending.level.type,
        "level_source": pair.sending.level.source,
        "relay": pair.sending.relay,
        "pci_mapping": pair.sending.pci_mapping,
        "nic_gdr": pair.nic[0],
        "nic_gdr_why": pair.nic[1],
        "gpu_gdr": pair.gpu_can,
        "peer_memory": list(gdr.peer_memory) if gdr else None,
        "dma_buf_gpus": gdr.dma_buf_gpus if gdr else None,
        "kernel": gdr.kernel if gdr else None,
        "driver": gdr.driver if gdr else None,
        "open_driver": gdr.open_driver if gdr else None,
        "transfer_tried": tried,
    }


def _direction(way: GpuDirect) -> dict[str, Any]:
    return {"used": way.on, "condition": str(way.failed) if way.failed else None}
