# SPDX-License-Identifier: Apache-2.0
"""The machines of published tables as NCCL's XML, from what a table says: GPU, how many, what joins them, NICs.

A node has a PCI switch for each NIC and its GPUs, half of them on each of two sockets; GPUs of a node have NVLinks to
NVSwitches or to each other. Where a table names one of the fixtures, that is the machine.
"""

import re
from functools import cache
from typing import NamedTuple

from benchmarks.predict.published import PublishedMachine, PublishedTable

from railgauge.topo.compare.what_if import edited
from railgauge.topo.machine import Machine, load_machine
from railgauge.topo.xml import topology_file

INTEL = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"'
AMD = 'arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49"'
ARM = 'arch="arm64"'
SWITCHED = '<nvlink target="fffffff:ff:ff.0" count="{}" tclass="0x068000"/>'
MNNVL, SOCKETS = "mnnvl", "sockets"
GPUDIRECT = ("infiniband", "roce", "efa", "slingshot", "tcpx", "tcpxo")
LATENCY_US = {"efa": 15.5}  # of a message, as AWS announced it for EFA in 2019
WHOLE = {"nvswitch": 8}  # GPUs of a whole node, of which some may take no part; 4 of others


class Gpu(NamedTuple):
    """What a kind of GPU has: compute capability, NVLinks, PCI link, processor beside it."""

    sm: int
    nvlinks: int
    gt_per_s: str
    cpu: str


GPUS = {
    "A100": Gpu(80, 12, "16.0 GT/s PCIe", AMD),
    "A800": Gpu(80, 8, "16.0 GT/s PCIe", AMD),
    "H100": Gpu(90, 18, "32.0 GT/s PCIe", INTEL),
    "H200": Gpu(90, 18, "32.0 GT/s PCIe", INTEL),
    "H20": Gpu(90, 18, "32.0 GT/s PCIe", INTEL),
    "GH200": Gpu(90, 18, "32.0 GT/s PCIe", ARM),
    "B200": Gpu(100, 18, "32.0 GT/s PCIe", INTEL),
    "B300": Gpu(103, 18, "32.0 GT/s PCIe", INTEL),
    "GB200": Gpu(100, 18, "32.0 GT/s PCIe", ARM),
    "GB300": Gpu(103, 18, "32.0 GT/s PCIe", ARM),
}


class Nics(NamedTuple):
    """NICs of a node as NCCL counts them."""

    per_node: int
    gb_s: int


def missing(table: PublishedTable) -> str:
    """What a table lacks for a prediction, or why none is due; "" if nothing."""
    machine = table.machine
    if machine.fabric == "xgmi" or (table.release or "").startswith("RCCL"):
        return "RCCL is not modelled"
    if table.verdict == "faulty":
        return "the machine was found faulty"
    if machine.fabric not in ("nvswitch", "nvlink-mesh", "nvlink-bridge") and not machine.sku:
        return "the places of GPUs on PCIe are not given"
    if not machine.sku and machine.gpu.split("-")[0] not in GPUS:
        return "the GPU is not known"
    if machine.nodes == 1 or machine.network == MNNVL:
        return "" if machine.fabric != "nvlink-bridge" or machine.gpus_per_node == 2 else "the bridges are not given"
    if machine.network == SOCKETS:
        return "sockets between nodes are not modelled"
    if machine.network not in GPUDIRECT or not machine.nics:
        return "the network is not given"
    return ""


def nodes_of(machine: PublishedMachine) -> int:
    """The number of nodes for NCCL, to which an NVLink domain is one."""
    return 1 if machine.network == MNNVL else machine.nodes


def machine_of(table: PublishedTable) -> Machine:
    """The machine of a table: the fixture without the GPUs that took no part, or as described; one for all tables of
    it.
    """
    machine = table.machine
    if machine.sku:
        return _fixture(machine.sku, machine.gpus_per_node)
    return _of_xml(described(machine, listed_nics(table)))


@cache
def _of_xml(text: str) -> Machine:
    return Machine(topology=topology_file.loads(text))


@cache
def _fixture(name: str, gpus: int) -> Machine:
    whole = load_machine(name)
    drops = [f"GPU{number}" for number in range(gpus, len(whole.system.gpus))]
    return Machine(topology=edited(whole.topology, drops=drops))


def listed_nics(table: PublishedTable) -> Nics:
    """The NICs: ports of one card are one for NCCL, so are the NICs of a GPU for EFA's plugin; of NCCL_IB_HCA's list
    there are as many as it names.
    """
    machine = table.machine
    found = re.match(r"(\d+) x (\d+) Gb/s", machine.nics or "")
    if not found or nodes_of(machine) == 1:
        return Nics(0, 0)
    count, rate = int(found[1]), int(found[2])
    for setting in table.settings:
        name, _, value = setting.partition("=")
        if name == "NCCL_IB_HCA" and value and not value.startswith("^"):
            count = min(count, len(value.split(",")))
    whole = whole_node(machine)
    return Nics(whole, rate * count // whole) if count > whole else Nics(count, rate)


def whole_node(machine: PublishedMachine) -> int:
    """The GPUs of a node, with those that took no part."""
    if machine.network == MNNVL:
        return machine.gpus_per_node * machine.nodes
    return max(machine.gpus_per_node, WHOLE.get(machine.fabric, 4)) if machine.nodes > 1 else machine.gpus_per_node


def described(machine: PublishedMachine, nics: Nics) -> str:
    """The XML of a node."""
    gpu = GPUS[machine.gpu.split("-")[0]]
    groups = _groups(whole_node(machine), nics.per_node)
    sockets = [groups[: (len(groups) + 1) // 2], groups[(len(groups) + 1) // 2 :]]
    latency = LATENCY_US.get(machine.network or "", 0.0)
    text = ""
    for number, held in enumerate(sockets):
        inside = "".join(_switch(bus, machine, gpu, gpus, nets, nics, latency) for bus, gpus, nets in held)
        text += f'<cpu numaid="{number}" {gpu.cpu}>{inside}</cpu>'
    return f'<system version="1">{text}</system>'


def _groups(gpus: int, nics: int) -> list[tuple[int, range, range]]:
    """The switches: a bus, and the GPUs and NICs below it."""
    count = min(gpus, nics) if nics else gpus
    each, nets = gpus // count, nics // count
    return [
        (16 * number + 16, range(number * each, (number + 1) * each), range(number * nets, (number + 1) * nets))
        for number in range(count)
    ]


def _switch(bus: int, machine: PublishedMachine, gpu: Gpu, gpus: range, nets: range, nics: Nics, latency: float) -> str:
    domain, low = divmod(bus, 256)
    used = machine.gpus_per_node * (machine.nodes if machine.network == MNNVL else 1)
    inside = "".join(
        _device(
            _bus_id(number),
            "0x030200",
            gpu,
            f'<gpu dev="{number}" sm="{gpu.sm}" rank="{number}" gdr="1">{_nvlinks(machine, gpu, number, used)}</gpu>',
        )
        for number in gpus
        if number < used
    )
    inside += "".join(
        _device(
            f"{domain:04x}:{low:02x}:{8 + i:02x}.0",
            "0x020000",
            gpu,
            f'<nic><net name="mlx5_{net}" dev="{net}" speed="{nics.gb_s * 1000}" port="1" guid="0x{net + 1:x}" '
            f'latency="{latency}" gdr="1"/></nic>',
        )
        for i, net in enumerate(nets)
    )
    return _device(f"{domain:04x}:{low:02x}:00.0", "0x060400", gpu, inside)


def _nvlinks(machine: PublishedMachine, gpu: Gpu, number: int, used: int) -> str:
    if machine.fabric == "nvswitch":
        return SWITCHED.format(gpu.nvlinks)
    others = [other for other in range(used) if other != number]
    links = 12 if machine.fabric == "nvlink-bridge" else gpu.nvlinks // max(1, whole_node(machine) - 1)
    return "".join(f'<nvlink target="{_bus_id(other)}" count="{links}" tclass="0x030200"/>' for other in others)


def _bus_id(number: int) -> str:
    return f"{0x100 + number // 8:04x}:{0x10 + number % 8:02x}:00.0"


def _device(bus_id: str, kind: str, gpu: Gpu, inside: str) -> str:
    return f'<pci busid="{bus_id}" class="{kind}" link_speed="{gpu.gt_per_s}" link_width="16">{inside}</pci>'
