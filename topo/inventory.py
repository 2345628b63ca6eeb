# SPDX-License-Identifier: Apache-2.0
"""The inventory: facts about a machine that NCCL's topology XML has no room for, as records of their sources.

What is read here is neither interpreted nor merged: pictures, diffs and findings do that.
"""

from dataclasses import dataclass, field

from railgauge.topo.sources.gdr import GdrFacts, read_gdr
from railgauge.topo.sources.host_facts import HostFacts, read_host
from railgauge.topo.sources.ip_stack import IpStack, read_ip_stack
from railgauge.topo.sources.nccl_settings import Setting, read_settings
from railgauge.topo.sources.nvml import Gpu, cuda_version, no_nvml, read_gpus
from railgauge.topo.sources.pci_functions import PciFunction, read_functions
from railgauge.topo.sources.port_errors import PortErrors, read_port_errors
from railgauge.topo.sources.process import Process, read_process
from railgauge.topo.sources.reader import Reader
from railgauge.topo.sources.shared_memory import SharedMemory, read_shared_memory
from railgauge.topo.sources.sysfs_infiniband import RdmaDevice, read_rdma
from railgauge.topo.sources.sysfs_interfaces import Interface, read_interfaces
from railgauge.topo.sources.verbs_stack import VerbsStack, read_verbs_stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Everything that was found; a part that a machine lacks is empty.

    no_nvml: why NVML tells nothing of the GPUs, None where it does; `gpus` are then those that CUDA lists, and nobody
    knows their NVLinks. cuda: the newest CUDA that the driver can do, as "12.4". settings: those of NCCL in force;
    None where nobody asked.
    """

    host: HostFacts
    pci: tuple[PciFunction, ...]
    gpus: tuple[Gpu, ...]
    interfaces: tuple[Interface, ...]
    rdma: tuple[RdmaDevice, ...]
    gdr: GdrFacts
    no_nvml: str | None = None
    cuda: str | None = None
    settings: tuple[Setting, ...] | None = None
    process: Process = field(default_factory=Process)
    shared_memory: SharedMemory | None = None
    verbs_stack: VerbsStack = field(default_factory=VerbsStack)
    ip: IpStack = field(default_factory=IpStack)
    port_errors: tuple[PortErrors, ...] = ()

    def function(self, bus_id: str | None) -> PciFunction | None:
        """The PCI function of that bus id, None without one."""
        return next((function for function in self.pci if function.bus_id == bus_id), None)

    def gpu(self, bus_id: str | None) -> Gpu | None:
        """The GPU of that bus id, None without one."""
        return next((gpu for gpu in self.gpus if gpu.bus_id == bus_id), None)


def take_inventory(reader: Reader) -> Inventory:
    """Read all sources of a machine; what cannot be read is None in its record (reasons: `reader.problems`)."""
    nvml, cuda = reader.facts("nvml"), reader.facts("cuda")
    gpus, _ = read_gpus(nvml, cuda)
    return Inventory(
        host=read_host(reader),
        pci=read_functions(reader),
        gpus=gpus,
        interfaces=read_interfaces(reader),
        rdma=read_rdma(reader),
        gdr=read_gdr(reader),
        no_nvml=no_nvml(nvml),
        cuda=cuda_version((nvml or {}).get("cuda")),
        settings=read_settings(reader),
        process=read_process(reader),
        shared_memory=read_shared_memory(reader),
        verbs_stack=read_verbs_stack(reader),
        ip=read_ip_stack(reader),
        port_errors=read_port_errors(reader),
    )
