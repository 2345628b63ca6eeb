# SPDX-License-Identifier: Apache-2.0
"""GPUs not registered in the NVLink fabric: fabric manager not running, or of another release."""

import re
from collections.abc import Iterator

from railgauge.topo.facts.sources.nvml import NvmlGpu
from railgauge.topo.facts.sources.sysfs_pci import NVIDIA
from railgauge.topo.findings.cards.nvlink import FABRIC_NOT_READY
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.peers import gpus
from railgauge.topo.findings.node.rule import Need, Rule
from railgauge.topo.machine import Machine
from railgauge.topo.values.pci_class import NVSWITCH

STARTED, PROGRESS, COMPLETED = 1, 2, 3  # nvmlGpuFabricState_t: not started, in progress, completed
WORDS = {STARTED: "not started", PROGRESS: "in progress"}
NOT_READY = 802  # CUDA_ERROR_SYSTEM_NOT_READY
FROM_SM = 90  # older GPUs report no fabric state


def _check(machine: Machine) -> Iterator[Finding]:
    error = machine.sources.driver.cuda_error or ""
    if re.search(rf"\b{NOT_READY}\b", error):
        yield RULE.finding(
            Level.FAIL, machine.host, f"CUDA does not start: {error}", effect=RULE.card.effect, cuda=error
        )
    yield from _of_another_release(machine)
    silent = []
    for gpu in _on_switches(machine):
        fabric = gpu.fabric
        if fabric is None or fabric.state is None:
            silent += [gpu.bus_id] if gpu.sm >= FROM_SM else []
        elif fabric.state in WORDS or (fabric.state == COMPLETED and fabric.status):
            state = WORDS.get(fabric.state, f"completed with an error (NVML {fabric.status})")
            message = f"GPU{gpu.index} ({gpu.bus_id}): the fabric is {state}"
            yield RULE.finding(
                Level.FAIL, gpu.bus_id, message, effect=RULE.card.effect, state=fabric.state, status=fabric.status
            )
        elif fabric.ills:
            message = f"GPU{gpu.index} ({gpu.bus_id}), NVLink fabric: {', '.join(fabric.ills)}"
            yield RULE.finding(Level.FAIL, gpu.bus_id, message, health=fabric.health)
    yield from _cliques(machine)
    if silent:
        yield RULE.unknown(silent[0], f"NVML reports no fabric state for {len(silent)} GPUs", gpus=silent)


def _cliques(machine: Machine) -> Iterator[Finding]:
    """GPUs of one node in several cliques: NVLink connects them within one only."""
    joined = [gpu for gpu in machine.sources.gpus if gpu.fabric and gpu.fabric.state == COMPLETED]
    cliques: dict[tuple[str | None, int | None], list[int]] = {}
    for gpu in joined:
        if gpu.fabric and not gpu.fabric.status:
            cliques.setdefault((gpu.fabric.cluster, gpu.fabric.clique), []).append(gpu.index)
    if len(cliques) > 1:
        parts = "; ".join(
            f"clique {clique}: {', '.join(f'GPU{one}' for one in gpus)}" for (_, clique), gpus in cliques.items()
        )
        yield RULE.finding(Level.WARN, machine.host, f"the GPUs are in {len(cliques)} cliques of the fabric: {parts}")


def _of_another_release(machine: Machine) -> Iterator[Finding]:
    """A fabric manager that cannot start or restart: its release must match the driver's."""
    manager, driver = machine.sources.fabric_manager, machine.sources.driver.module
    if not manager or not driver or manager == driver:
        return
    joined = _on_switches(machine)
    waiting = any(gpu.fabric and gpu.fabric.state in WORDS for gpu in joined)
    works = bool(joined) and not waiting and not machine.sources.driver.cuda_error
    yield RULE.finding(
        Level.WARN if works else Level.FAIL,
        "nv-fabricmanager",
        f"nv-fabricmanager is {manager}, the driver is {driver}: it starts only with a driver of its own release",
        effect="the fabric works until the next restart" if works else RULE.card.effect,
        fabric_manager=manager,
        driver=driver,
    )


def _on_switches(machine: Machine) -> list[NvmlGpu]:
    """The GPUs connected by NVSwitches, or that report a fabric."""
    known = machine.sources.gpus
    return [gpu for gpu in known if (gpu.fabric and gpu.fabric.state) or _has_switch(gpu)]


def _has_switch(gpu: NvmlGpu) -> bool:
    return any(link.remote_kind == "switch" and link.up for link in gpu.links)


def _concerns(machine: Machine) -> bool:
    if machine.facts is None or _on_switches(machine) or machine.sources.driver.cuda_error:
        return True
    if any((one.pci_class or "").startswith(NVSWITCH) and one.vendor == NVIDIA for one in machine.facts.pci):
        return True
    return machine.facts.no_nvml is not None and bool(gpus(machine))


RULE = Rule(card=FABRIC_NOT_READY, needs=(Need.MACHINE, Need.NVML), concerns=_concerns, check=_check)
