# SPDX-License-Identifier: Apache-2.0
"""The inventory: facts about a machine that NCCL's topology XML has no room for, as records of their sources.

What is read here is neither interpreted nor merged: pictures, diffs and findings do that.
"""

from dataclasses import dataclass

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.gdr import GdrFacts, read_gdr
from railgauge.topo.facts.sources.host_facts import HostFacts, read_host
from railgauge.topo.facts.sources.nccl_settings import Setting, read_settings
from railgauge.topo.facts.sources.nvml import Gpu, cuda_version, no_nvml, read_gpus
from railgauge.topo.facts.sources.pci_functions import PciFunction, read_functions
from railgauge.topo.facts.sources.sysfs_infiniband import RdmaDevice, read_rdma
from railgauge.topo.facts.sources.sysfs_interfaces import Interface, read_interfaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Everything that was found; a part that a machine lacks is empty.

    no_nvml: why NVML has no facts of the GPUs, None if it has; `gpus` are then those that CUDA lists, and nobody
    knows their NVLinks. cuda: the newest CUDA that the driver can do, as "12.4". settings: those of NCCL in force;
    None if not read.
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
    )
