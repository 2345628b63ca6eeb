# SPDX-License-Identifier: Apache-2.0
"""What is there on a machine: a property for each source, read when it is first asked for, and then kept.

What is read here is neither interpreted nor merged: pictures, diffs and findings do that. A recording reads them all,
so that every command answers the same from a capture: a new source is one property here.
"""

import copy
from collections.abc import Mapping
from functools import cached_property

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.cpufreq import read_governors
from railgauge.topo.facts.sources.driver_libraries import DriverReleases, read_driver_releases
from railgauge.topo.facts.sources.fabric_manager import read_fabric_manager
from railgauge.topo.facts.sources.gdr import GdrFacts, read_gdr
from railgauge.topo.facts.sources.gpu_health import GpuHealthReading, read_gpu_health
from railgauge.topo.facts.sources.gpu_nodes import GpuNodes, read_gpu_nodes
from railgauge.topo.facts.sources.host_facts import HostFacts, read_host
from railgauge.topo.facts.sources.host_identity import BOOT_ID, host_name
from railgauge.topo.facts.sources.imex import Imex, read_imex
from railgauge.topo.facts.sources.interface_statistics import InterfaceStatistics, read_interface_statistics
from railgauge.topo.facts.sources.iommu import Iommu, read_iommu
from railgauge.topo.facts.sources.ip_stack import IpStack, read_ip_stack
from railgauge.topo.facts.sources.kernel_log import KernelLog, read_kernel_log
from railgauge.topo.facts.sources.module_temperatures import ModuleTemperature, read_module_temperatures
from railgauge.topo.facts.sources.nccl_release import read_nccl_release
from railgauge.topo.facts.sources.nccl_settings import Setting, read_settings
from railgauge.topo.facts.sources.nccl_topo_file import NamedFile, read_topo_file
from railgauge.topo.facts.sources.nvml import NvmlGpu, cuda_version, no_nvml, read_gpus
from railgauge.topo.facts.sources.pci_config import PciConfig, read_pci_config
from railgauge.topo.facts.sources.pci_functions import PciFunction, read_functions
from railgauge.topo.facts.sources.port_errors import PortErrors, read_port_errors
from railgauge.topo.facts.sources.process import Process, read_process
from railgauge.topo.facts.sources.shared_memory import SharedMemory, read_shared_memory
from railgauge.topo.facts.sources.sysfs_infiniband import NETNS_MODE, RdmaDevice, read_rdma
from railgauge.topo.facts.sources.sysfs_interfaces import SysfsInterface, read_interfaces
from railgauge.topo.facts.sources.verbs import Verbs, read_verbs
from railgauge.topo.facts.sources.verbs_stack import VerbsStack, read_verbs_stack

LISTERS = ("lspci", "hwloc")
"""Pasted outputs that list all PCI functions."""
BRIDGES = "0x06"
"""What the classes of bridges begin with: where there are none, somebody has chosen lines."""


class MachineFacts:
    """The sources of one machine. A part that it lacks is empty; what cannot be read is None in its record, with the
    reason in `reader.problems`.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.whole: MachineFacts | None = None
        self.left_out: frozenset[str] = frozenset()

    def read_all(self) -> dict[str, object]:
        """What every source tells, by name of the property."""
        return {
            name: getattr(self, name) for name, one in vars(MachineFacts).items() if isinstance(one, cached_property)
        }

    def but(self, **known: object) -> "MachineFacts":
        """The same but for some sources, by name, such as the settings of NCCL in force."""
        other = copy.copy(self)
        vars(other).update(known)
        return other

    def of_gpus(self, indices: tuple[int, ...] | None) -> "MachineFacts":
        """The same without GPUs of other indices; None for all."""
        if indices is None:
            return self
        out = {gpu.bus_id for gpu in self.gpus if gpu.index not in indices}
        return self.but(
            whole=self,
            gpus=tuple(gpu for gpu in self.gpus if gpu.bus_id not in out),
            pci=tuple(one for one in self.pci if one.bus_id not in out),
            left_out=frozenset(out),
        )

    @property
    def of_all_gpus(self) -> "MachineFacts":
        """The same with all GPUs of the machine."""
        return self.whole or self

    def function(self, bus_id: str | None) -> PciFunction | None:
        """The PCI function of that bus id, None without one."""
        return next((function for function in self.pci if function.bus_id == bus_id), None)

    def gpu(self, bus_id: str | None) -> NvmlGpu | None:
        """The GPU of that bus id, None without one."""
        return next((gpu for gpu in self.gpus if gpu.bus_id == bus_id), None)

    @cached_property
    def host(self) -> HostFacts:
        """Kernel, CPU, whether it is a virtual machine."""
        return read_host(self.reader)

    @cached_property
    def pci(self) -> tuple[PciFunction, ...]:
        """PCI functions in the order of their bus ids."""
        return read_functions(self.reader)

    @property
    def lists_pci(self) -> bool:
        """Whether these are all PCI functions: of what was pasted only lspci and hwloc list them, with bridges."""
        pasted: tuple[str, ...] = getattr(self.reader, "pasted", ())
        if not pasted:
            return bool(self.pci)
        bridges = any((one.pci_class or "").startswith(BRIDGES) for one in self.pci)
        return bridges and any(tool.startswith(LISTERS) for tool in pasted)

    @cached_property
    def gpus(self) -> tuple[NvmlGpu, ...]:
        """GPUs by NVML; where `no_nvml` says why not, those that CUDA lists, of which nobody knows the NVLinks."""
        return read_gpus(self.reader.facts("nvml"), self.reader.facts("cuda"))[0]

    @cached_property
    def gpu_health(self) -> GpuHealthReading:
        """The health of GPUs by NVML."""
        return read_gpu_health(self.reader).but(self.left_out)

    @cached_property
    def kernel_log(self) -> KernelLog:
        """What NVIDIA's driver reports in the kernel's log."""
        return read_kernel_log(self.reader).but(self.left_out)

    @cached_property
    def interface_statistics(self) -> InterfaceStatistics:
        """What the drivers of NICs count of the physical layer."""
        return read_interface_statistics(self.reader)

    @cached_property
    def module_temperatures(self) -> tuple[ModuleTemperature, ...]:
        """The temperatures of optical modules and NICs."""
        return read_module_temperatures(self.reader)

    @cached_property
    def no_nvml(self) -> str | None:
        """Why NVML does not answer; None where it does."""
        return no_nvml(self.reader.facts("nvml"))

    @cached_property
    def cuda(self) -> str | None:
        """The newest CUDA that the driver can do, as "12.4"."""
        return cuda_version((self.reader.facts("nvml") or {}).get("cuda"))

    @cached_property
    def gpu_nodes(self) -> GpuNodes:
        """Which GPUs the process that read the machine was given."""
        return read_gpu_nodes(self.reader)

    @cached_property
    def interfaces(self) -> tuple[SysfsInterface, ...]:
        """Network interfaces by name."""
        return read_interfaces(self.reader)

    @cached_property
    def rdma(self) -> tuple[RdmaDevice, ...]:
        """RDMA devices by name, with their ports and GIDs."""
        return read_rdma(self.reader)

    @property
    def is_plugin_network(self) -> bool:
        """Whether NCCL reaches its RDMA devices through a network plugin alone: all have their own protocol (EFA)."""
        return {device.protocol for device in self.rdma} == {"unspecified"}

    @cached_property
    def rdma_namespaces(self) -> str | None:
        """Whether network namespaces share all RDMA devices: "shared" or "exclusive"; None if unknown."""
        return {"Y": "shared", "N": "exclusive"}.get(self.reader.text(NETNS_MODE) or "")

    @cached_property
    def verbs(self) -> Verbs:
        """RDMA devices as libibverbs knows them."""
        return read_verbs(self.reader)

    @cached_property
    def gdr(self) -> GdrFacts:
        """The host's part of GPUDirect RDMA."""
        return read_gdr(self.reader)

    @cached_property
    def settings(self) -> tuple[Setting, ...] | None:
        """NCCL's settings in force; None where nobody asked."""
        return read_settings(self.reader)

    @cached_property
    def iommu(self) -> Iommu:
        """Groups, and whether they are translated."""
        return read_iommu(self.reader)

    @cached_property
    def pci_config(self) -> Mapping[str, PciConfig]:
        """Configuration spaces by bus id."""
        return read_pci_config(self.reader.facts("pci_config"))

    @cached_property
    def governors(self) -> Mapping[tuple[str | None, str | None], int]:
        """Policies of the cores' clocks by driver and governor."""
        return read_governors(self.reader)

    @cached_property
    def imex(self) -> Imex:
        """IMEX channels."""
        return read_imex(self.reader)

    @cached_property
    def driver(self) -> DriverReleases:
        """Releases of NVIDIA's driver."""
        return read_driver_releases(self.reader)

    @cached_property
    def nccl(self) -> str | None:
        """The release of the NCCL that the system's loader finds; None where none is, or its file does not name it."""
        return read_nccl_release(self.reader)

    @cached_property
    def fabric_manager(self) -> str | None:
        """The release of the fabric manager that is installed; None where none is, or nobody asked."""
        return read_fabric_manager(self.reader)

    @cached_property
    def topo_file(self) -> NamedFile | None:
        """The topology file that NCCL begins with."""
        return read_topo_file(self.reader)

    @cached_property
    def identity(self) -> tuple[str | None, str | None]:
        """Host name and boot id, by which NCCL tells hosts apart."""
        return host_name(self.reader), self.reader.text(BOOT_ID)

    @cached_property
    def process(self) -> Process:
        """Limits and capabilities of the process that read the machine."""
        return read_process(self.reader)

    @cached_property
    def shared_memory(self) -> SharedMemory | None:
        """/dev/shm; None where nobody asked."""
        return read_shared_memory(self.reader)

    @cached_property
    def verbs_stack(self) -> VerbsStack:
        """What libibverbs needs to reach devices."""
        return read_verbs_stack(self.reader)

    @cached_property
    def ip(self) -> IpStack:
        """How the kernel treats IP packets."""
        return read_ip_stack(self.reader)

    @cached_property
    def port_errors(self) -> tuple[PortErrors, ...]:
        """Error counters of RDMA ports."""
        return read_port_errors(self.reader)
