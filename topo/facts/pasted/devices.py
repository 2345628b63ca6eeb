# SPDX-License-Identifier: Apache-2.0
"""Which PCI function each GPU and NIC of several outputs is, where no output says both.

Names that systemd makes of a place say it (systemd.net-naming-scheme: enp27s0f1np1, ibp26s0; rdma-core's rdma_rename:
rocep216s0f0): p is the bus, s the slot, f the function, P a domain, in decimal. Else equally many are taken in order.
"""

import re

from railgauge.topo.facts.pasted.host import PastedFunction, PastedHost
from railgauge.topo.facts.pasted.placement import is_gpu
from railgauge.topo.values.number import natural
from railgauge.topo.values.pci_class import DISPLAY, NETWORK

NVIDIA, MELLANOX = "0x10de", "0x15b3"
NUMBERED = re.compile(r"NIC\d{1,3}")
IN_ORDER = 10
"""So many devices have one order by their names and by the numbers in them."""
PLACE_NAME = re.compile(
    r"(?:en|ib|eth|roce|rdma|wl|iw)(?:P(\d{1,5}))?p(\d{1,3})s(\d{1,2})(?:f(\d))?(?:n?p\w+|d\d+|n\w+)?"
)


def gpu_functions(host: PastedHost) -> list[PastedFunction]:
    """NVIDIA's GPUs among the PCI functions, in the order of their bus ids, as NVML numbers them."""
    found = (
        one for one in host.functions.values() if one.vendor == NVIDIA and (one.pci_class or "").startswith(DISPLAY)
    )
    return sorted(found, key=lambda one: one.bus_id)


def rdma_functions(host: PastedHost) -> list[PastedFunction]:
    """The NICs among the PCI functions that are RDMA devices for sure: NVIDIA's ConnectX and BlueField."""
    nics = (one for one in host.functions.values() if (one.pci_class or "").startswith(NETWORK))
    return sorted((one for one in nics if one.vendor == MELLANOX), key=lambda one: one.bus_id)


def identify(host: PastedHost) -> None:
    """Give each GPU its `pci` and each RDMA device its bus id, as far as they are known or can be assumed."""
    _name_nics(host)
    for name in host.matrix.columns if host.matrix else ():
        if is_gpu(name):
            host.gpu(int(name[3:]))
        elif "CPU" not in name:
            host.device(host.matrix.nics.get(name, name) if host.matrix else name)
    _gpus(host)
    _rdma(host)


def _name_nics(host: PastedHost) -> None:
    """Name the NICs of a matrix without its legend as other outputs do: a device is not counted twice."""
    columns = [name for name in host.matrix.columns if NUMBERED.fullmatch(name)] if host.matrix else []
    names = {name: f"mlx5_{name[3:]}" for name in columns}
    if host.matrix is None or host.matrix.nics or not {*host.rdma} or not {*host.rdma} <= {*names.values()}:
        return
    if len(names) <= IN_ORDER:
        host.matrix.nics.update(names)
        host.assumed.append(
            f"the legend of NICs was not pasted: {columns[0]} is {names[columns[0]]} assumed, and so on"
        )


def _gpus(host: PastedHost) -> None:
    there = gpu_functions(host)
    without = [gpu for _, gpu in sorted(host.gpus.items()) if not gpu.get("pci")]
    if without and len(there) == len(host.gpus):
        for (_, gpu), function in zip(sorted(host.gpus.items()), there, strict=True):
            gpu.setdefault("pci", function.bus_id)


def _rdma(host: PastedHost) -> None:
    for name, device in host.rdma.items():
        names = [name, *(port.netdev for port in device.ports.values() if port.netdev)]
        places = (place for one in names if (place := place_of(one)))
        device.bus_id = device.bus_id or next(places, None)
        if device.bus_id and not host.matrix:
            function = host.function(device.bus_id)
            function.pci_class = function.pci_class or "0x028000"
    there = rdma_functions(host)
    if not host.rdma and there:
        for number, function in enumerate(there):
            host.device(f"NIC{number}").bus_id = function.bus_id
        host.assumed.append(
            f"names of RDMA devices are not said: NVIDIA's {len(there)} NICs are called NIC0 to NIC{len(there) - 1}"
        )
        return
    taken = {device.bus_id for device in host.rdma.values()}
    left = [function for function in there if function.bus_id not in taken]
    without = [host.rdma[name] for name in sorted(host.rdma, key=natural) if host.rdma[name].bus_id is None]
    if without and len(left) == len(without):
        for device, function in zip(without, left, strict=True):
            device.bus_id = function.bus_id
        host.assumed.append(f"which PCI device {len(without)} RDMA devices are is not said: taken in order")


def place_of(name: str) -> str | None:
    """The bus id in an interface's or RDMA device's name; None without one."""
    found = PLACE_NAME.fullmatch(name)
    if found is None:
        return None
    domain, bus, slot, function = (int(part or 0) for part in found.groups())
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function}" if domain <= 0xFFFF and bus < 0x100 and slot < 0x20 else None
