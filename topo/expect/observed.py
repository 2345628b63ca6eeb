# SPDX-License-Identifier: Apache-2.0
"""What a machine has of each key of an expectation.

A GPU's link counts with the speed that both of its ends can do, since the speed of the present falls when it rests.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from railgauge.topo.expect.key import DOWN
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.pci_devices import gpus, nvswitches
from railgauge.topo.facts.sources.pci_functions import PciFunction, best_link
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS, RdmaDevice, RdmaPort
from railgauge.topo.facts.sources.sysfs_numa import numa_nodes
from railgauge.topo.link_state.pcie import Rate

NO_PCI = "the PCI devices were not read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """values: by device, None where its value could not be read; "" for the machine itself. why: why there is none."""

    values: Mapping[str, str | None] = field(default_factory=dict)
    why: str = ""


Look: TypeAlias = Callable[[MachineFacts], Observed]


def observed(key: str, facts: MachineFacts) -> Observed:
    """What there is of a key, as text."""
    return LOOKS[key](facts)


def on_pci(key: str, facts: MachineFacts) -> int:
    """How many devices of a count there are on PCI, usable here or not: a container may be given some of them.

    0 for what is not counted there, and where PCI was not read.
    """
    counts = {"gpus": lambda: len(gpus(facts)), "nics": lambda: len(_rdma_functions(facts))}
    return counts[key]() if key in counts else 0


def _rdma_functions(facts: MachineFacts) -> set[str]:
    """The PCI functions of models that have an RDMA device elsewhere on the machine, virtual ones left out."""
    known = {device.bus_id for device in facts.rdma}
    models = {_model(one) for one in facts.pci if one.bus_id in known}
    return {one.bus_id for one in facts.pci if _model(one) in models and one.physfn is None}


def _model(one: PciFunction) -> tuple[str | None, ...]:
    return one.vendor, one.device, one.pci_class


def _of_machine(value: object | None, why: str) -> Observed:
    return Observed(why=why) if value is None else Observed(values={"": str(value)})


def _gpus(facts: MachineFacts) -> Observed:
    if facts.no_nvml is None:
        return _of_machine(len(facts.gpus), "")
    return _of_machine(0 if facts.pci and not gpus(facts) else None, facts.no_nvml)


def _nvswitches(facts: MachineFacts) -> Observed:
    return _of_machine(len(nvswitches(facts)) if facts.pci else None, NO_PCI)


def _nics(facts: MachineFacts) -> Observed:
    if not facts.rdma and not facts.reader.knows(CLASS):
        return Observed(why=f"the RDMA devices were not read ({CLASS})")
    return _of_machine(len(hardware(facts)), "")


def _numa(facts: MachineFacts) -> Observed:
    return _of_machine(len(numa_nodes(facts.reader)) or None, "the NUMA nodes were not read (/sys/devices/system/node)")


def _of_gpus(value: Callable[[MachineFacts, str], str | None]) -> Look:
    """A value of each GPU that NVML lists; where NVML does not answer nobody knows."""

    def look(facts: MachineFacts) -> Observed:
        if facts.no_nvml is not None and (gpus(facts) or not facts.pci):
            return Observed(why=facts.no_nvml)
        return Observed(values={gpu.bus_id: value(facts, gpu.bus_id) for gpu in facts.gpus})

    return look


def _nvlinks(facts: MachineFacts, bus_id: str) -> str | None:
    """The NVLinks in use; MIG turns them off."""
    gpu = facts.gpu(bus_id)
    return None if gpu is None or gpu.mig else str(sum(count for _, count in gpu.nvlinks))


def _link(facts: MachineFacts, bus_id: str | None) -> str | None:
    function = facts.function(bus_id)
    if function is None:
        return None
    speed, _ = best_link(function, facts.function(function.parent))
    return Rate(gt_per_s=speed, lanes=function.link.lanes).text or None


def _nic_link(facts: MachineFacts) -> Observed:
    found = {device.name: _link(facts, device.bus_id) for device in hardware(facts) if device.bus_id}
    return Observed(values=found) if facts.pci or not found else Observed(why=NO_PCI)


def hardware(facts: MachineFacts) -> list[RdmaDevice]:
    """The RDMA devices that are no software."""
    return [device for device in facts.rdma if not device.virtual]


def _ports(facts: MachineFacts) -> Iterator[tuple[str, RdmaDevice, RdmaPort]]:
    return ((f"{device.name}:{port.number}", device, port) for device in hardware(facts) for port in device.ports)


def _rate(port: RdmaPort) -> str | None:
    """DOWN for a port that is not active, whose rate says nothing."""
    if port.state is not None and not port.is_active:
        return DOWN
    return f"{port.rate_gbps:g}" if port.rate_gbps is not None else None


def _mtu(facts: MachineFacts, device: RdmaDevice, port: RdmaPort) -> str | None:
    """The interface's MTU on Ethernet, the port's on InfiniBand."""
    if port.link_layer == "Ethernet":
        found = next((one.mtu for one in facts.interfaces if one.name == port.netdev), None)
    else:
        found = facts.verbs.device(device.name).port(port.number).active_mtu
    return None if found is None else str(found)


LOOKS: Mapping[str, Look] = {
    "gpus": _gpus,
    "nics": _nics,
    "nvswitches": _nvswitches,
    "numa": _numa,
    "product": lambda facts: _of_machine(facts.host.product, "the product name was not read (DMI)"),
    "model": _of_gpus(lambda facts, bus_id: gpu.name if (gpu := facts.gpu(bus_id)) else None),
    "nvlinks": _of_gpus(_nvlinks),
    "link": _of_gpus(_link),
    "nic_link": _nic_link,
    "rate": lambda facts: Observed(values={name: _rate(port) for name, _, port in _ports(facts)}),
    "mtu": lambda facts: Observed(values={name: _mtu(facts, device, port) for name, device, port in _ports(facts)}),
    "firmware": lambda facts: Observed(values={device.name: device.firmware for device in hardware(facts)}),
    "vbios": _of_gpus(lambda facts, bus_id: gpu.vbios if (gpu := facts.gpu(bus_id)) else None),
    "driver": lambda facts: _of_machine(facts.driver.module or facts.driver.nvml, "the driver's release is unknown"),
    "cuda": lambda facts: _of_machine(facts.cuda, "the driver does not report its CUDA release"),
    "nccl": lambda facts: _of_machine(facts.nccl, "no libnccl.so.2 with a release in its name was found"),
    "kernel": lambda facts: _of_machine(facts.host.kernel, "the kernel's release was not read"),
}
