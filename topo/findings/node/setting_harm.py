# SPDX-License-Identifier: Apache-2.0
"""The harm of a setting: the P2P, RDMA, GPUDirect RDMA and choices that NCCL loses by it.

For the environment (nccl_setting_harmful.py), for files (conf_file_forgotten.py), and for `env`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

from railgauge.topo.errors import Error
from railgauge.topo.facts.known_settings import BINDING, CHOICES
from railgauge.topo.facts.sources.nccl_settings import Setting
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.effect import compared, priced, with_edits
from railgauge.topo.findings.node.gdr_use import by_dma_buf
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.graph.model import Node
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.hca import plugin_off
from railgauge.topo.nccl.settings.parameter import parameter

HOPPER = 90
LOSS = 0.95  # of the bus bandwidth: the model's accuracy
FEW = 4  # pairs that are named
UNIT_US = 4.096  # of NCCL_IB_TIMEOUT: IBTA 9.9.2.1.1
SHORTEST = 14  # NCCL_IB_TIMEOUT before 2.14: NVIDIA's list of environment variables


class Harm(NamedTuple):
    """The harm of a setting: its level, in words, and by the prediction. effect: where there is no price."""

    level: Level
    what: str
    effect: str = ""
    price: Callable[[], str] = str

    def on(self, finding: Finding) -> Finding:
        """The finding about it, with its effect."""
        return priced(replace(finding, effect=self.effect), self.price)


def harm_of(machine: Machine, setting: Setting) -> Harm | None:
    """The harm of a setting in force; None without any."""
    judged = JUDGED.get(setting.name)
    if judged is None or not setting.value or machine.facts is None:
        return None
    other = machine.under(tuple(one for one in machine.known_settings if one.name != setting.name))
    return judged(machine, other, setting)


def _network(machine: Machine, other: Machine, setting: Setting) -> Harm | None:
    """Sockets although there is RDMA, or RDMA without a port. Any other network belongs to a plugin."""
    if setting.name == "NCCL_NET" and setting.value.lower() == "ib":
        if machine.rdma_ports:
            return None
        return Harm(Level.FAIL, "no RDMA port is in use here: NCCL does not start")
    if setting.name == "NCCL_NET" and setting.value.lower() != "socket":
        return None
    if not plugin_off(machine.settings) or not other.rdma_ports:
        return None
    names = ", ".join(f"{port.name}:{port.rdma_port.number}" for port in other.rdma_ports)
    return Harm(Level.WARN, f"inter-node data uses TCP, although RDMA is available: {names}")


def _ports(machine: Machine, other: Machine, setting: Setting) -> Harm | None:
    """Ports left out that are of a kind with those in use, where their bandwidth is needed."""
    used = {(port.name, port.rdma_port.number) for port in machine.rdma_ports}
    kinds = {(port.device.hca_type, port.speed_mbps) for port in machine.rdma_ports}
    left = [port for port in other.rdma_ports if (port.name, port.rdma_port.number) not in used]
    alike = [port for port in left if (port.device.hca_type, port.speed_mbps) in kinds]
    try:
        fewer = with_edits(other, drops=[port.name for port in left])
        loss = _loss(fewer, other, setting, nodes=2) if alike and used else ""
    except Error:
        return None
    listed = ", ".join(f"{port.name}:{port.rdma_port.number}" for port in alike)
    return Harm(Level.WARN, f"it leaves out {listed}, of a kind with those in use", loss) if loss else None


def _timeout(machine: Machine, other: Machine, setting: Setting) -> Harm | None:
    """A wait for a NIC's answer that is shorter than in any release of NCCL; 0 is for ever."""
    number = parameter(machine.settings, setting.name, 0)
    if not machine.rdma_ports or not 0 < number < SHORTEST:
        return None
    seconds = UNIT_US * 2**number / 1e6
    message = f"a NIC waits {seconds:.2g} s for an answer, less than in any release of NCCL ({SHORTEST} before 2.14)"
    return Harm(Level.WARN, message, "a busy network ends jobs with status 12 (retry exceeded)")


def _peers(machine: Machine, other: Machine, setting: Setting) -> Harm | None:
    """P2P that the topology and the driver allow."""
    left = with_p2p(machine)
    lost = [pair for pair in with_p2p(other) if pair not in left]
    if not lost:
        return None
    message = f"{_named(lost)} use host memory, although P2P is available"
    return Harm(Level.WARN, message, price=partial(_loss, machine, other, setting, nodes=1))


def with_p2p(machine: Machine) -> list[tuple[int | None, int | None]]:
    """The pairs of GPUs that NCCL uses P2P between, by their numbers."""
    pairs = combinations(_in_order(machine), 2)
    return [(one.dev, two.dev) for one, two in pairs if machine.paths.peer_access(one.id, two.id).allowed]


def _in_order(machine: Machine) -> list[Node]:
    """The GPUs by their numbers."""
    return sorted(machine.system.gpus, key=lambda gpu: gpu.device_number)


def _named(pairs: list[tuple[int | None, int | None]]) -> str:
    names = [f"GPU{one}-GPU{two}" for one, two in pairs[:FEW]]
    return f"{', '.join(names)}{f' and {len(pairs) - FEW} more' if len(pairs) > FEW else ''}"


def _shared_memory(machine: Machine, other: Machine, setting: Setting) -> Harm | None:
    """Shared memory, which pairs without P2P need."""
    joined = with_p2p(machine)
    every = [(one.dev, two.dev) for one, two in combinations(_in_order(machine), 2)]
    without = [pair for pair in every if pair not in joined]
    if not parameter(machine.settings, setting.name, 0) or not without:
        return None
    return Harm(Level.WARN, f"{_named(without)} have no P2P, and exchange data over the network")


def _relays(machine: Machine, other: Machine, setting: Setting) -> Harm | None:
    """Paths over another GPU's NVLinks, to a GPU (NVB) or to its NIC (PXN)."""
    lost = _by_relay(other) - _by_relay(machine)
    if not lost:
        return None
    level = Level.WARN if setting.name == "NCCL_NVB_DISABLE" else Level.INFO
    return Harm(level, f"{len(lost)} paths no longer go over the NVLinks of an intermediate GPU")


def _by_relay(machine: Machine) -> set[tuple[str, str]]:
    return {(one, other) for one, other, path in machine.paths if path.type in ("NVB", "PXN")}


def _gdr(machine: Machine, other: Machine, setting: Setting) -> Harm | None:
    """GPUDirect RDMA between GPUs and the NICs that they use."""
    lost = direct(other) - direct(machine)
    if not lost:
        return None
    gpus = sorted({gpu for gpu, _, _ in lost})
    ways = {sending for _, _, sending in lost}
    which = "" if len(ways) > 1 else " for sending" if True in ways else " for receiving"
    message = f"no GPUDirect RDMA{which} for {len(gpus)} GPUs whose NICs are near enough"
    staged = "data is staged through host memory"
    return Harm(Level.WARN, message, staged, partial(_loss, machine, other, setting, nodes=2))


def direct(machine: Machine, *, own: bool = True) -> set[tuple[str, str, bool]]:
    """The GPUs and NICs that use GPUDirect RDMA, by direction (True: sending); `own`: with the NICs of a GPU alone."""
    names = {port.name for port in machine.rdma_ports}
    return {
        (gpu.id, net.id, sending)
        for gpu in machine.system.gpus
        for net in (machine.paths.local_nets(gpu) if own and machine.system.nets else machine.system.nets)
        for sending in (True, False)
        if net.name in names and machine.paths.gpu_direct(gpu.id, net.id, sending=sending).on
    }


def _dma_buf(machine: Machine, other: Machine, setting: Setting) -> Harm | None:
    """DMA-BUF without a peer-memory module."""
    inventory = machine.facts
    off = parameter(machine.settings, setting.name, 1) == 0
    if not off or inventory is None or inventory.gdr.peer_memory or not inventory.gpus or not other.rdma_ports:
        return None
    works, _ = by_dma_buf(other)
    message = "GPUDirect RDMA needs it here: nvidia_peermem is not loaded"
    return Harm(Level.WARN, message) if works else None


def _choice(machine: Machine, other: Machine, setting: Setting) -> Harm:
    """A forced choice of algorithm or channels: a fault if the model predicts a loss."""
    loss = _loss(machine, other, setting, nodes=1 if len(machine.system.gpus) > 1 else 2)
    return Harm(Level.WARN if loss else Level.INFO, "it forces one choice for every size and number of nodes", loss)


def _bound(machine: Machine, other: Machine, setting: Setting) -> Harm:
    return Harm(Level.INFO, "it forces one choice for every job")


def _loss(machine: Machine, other: Machine, setting: Setting, *, nodes: int) -> str:
    """The predictions with and without the setting, of an all-reduce, else an all-gather (which has rings where the
    other has NVLS); "" if neither is worse.
    """
    for collective in (Collective.ALL_REDUCE, Collective.ALL_GATHER):
        found = compared(other, machine, (f"{setting.name}={setting.value}",), nodes=nodes, collective=collective)
        if found and found.after.rows[-1].busbw_gb_per_s <= LOSS * found.before.rows[-1].busbw_gb_per_s:
            return f"{f'{nodes} such nodes: ' if nodes > 1 else ''}{found.statement}"
    return ""


def _nvls(machine: Machine, other: Machine, setting: Setting) -> Harm | None:
    """Reductions in the NVSwitches, from Hopper on."""
    gpus = machine.sources.gpus
    able = any(link.remote_kind == "switch" and link.up for gpu in gpus if gpu.sm >= HOPPER for link in gpu.links)
    off = parameter(machine.settings, setting.name, 1) == 0
    if not off or not able:
        return None
    price = partial(_loss, machine, other, setting, nodes=1 if len(gpus) > 1 else 2)
    return Harm(Level.INFO, "no reductions in the NVSwitches (NVLS), although supported", price=price)


JUDGED: dict[str, Callable[[Machine, Machine, Setting], Harm | None]] = {
    **dict.fromkeys(("NCCL_IB_DISABLE", "NCCL_NET"), _network),
    "NCCL_IB_HCA": _ports,
    "NCCL_IB_TIMEOUT": _timeout,
    **dict.fromkeys(("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"), _peers),
    "NCCL_SHM_DISABLE": _shared_memory,
    **dict.fromkeys(("NCCL_NVB_DISABLE", "NCCL_PXN_DISABLE"), _relays),
    **dict.fromkeys(("NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_NET_GDR_C2C"), _gdr),
    "NCCL_DMABUF_ENABLE": _dma_buf,
    "NCCL_NVLS_ENABLE": _nvls,
    **dict.fromkeys(BINDING, _bound),
    **dict.fromkeys(CHOICES, _choice),
}
