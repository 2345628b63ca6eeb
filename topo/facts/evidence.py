# SPDX-License-Identifier: Apache-2.0
"""Facts that rules read beyond the inventory: one property per source, read when a rule first asks for it.

A recording reads them all, so that every rule answers the same from a capture: a new source for a rule is one property
here.
"""

from collections.abc import Mapping
from functools import cached_property

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.cpufreq import read_governors
from railgauge.topo.facts.sources.driver_libraries import DriverReleases, read_driver_releases
from railgauge.topo.facts.sources.fabric_manager import read_fabric_manager
from railgauge.topo.facts.sources.host_identity import BOOT_ID, host_name
from railgauge.topo.facts.sources.imex import Imex, read_imex
from railgauge.topo.facts.sources.iommu import Iommu, read_iommu
from railgauge.topo.facts.sources.ip_stack import IpStack, read_ip_stack
from railgauge.topo.facts.sources.nccl_topo_file import NamedFile, read_topo_file
from railgauge.topo.facts.sources.pci_config import PciConfig, read_pci_config
from railgauge.topo.facts.sources.port_errors import PortErrors, read_port_errors
from railgauge.topo.facts.sources.process import Process, read_process
from railgauge.topo.facts.sources.shared_memory import SharedMemory, read_shared_memory
from railgauge.topo.facts.sources.verbs_stack import VerbsStack, read_verbs_stack


class Evidence:
    """The sources of one machine."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def read_all(self) -> None:
        """Read every source once, for a recording."""
        for name, value in vars(type(self)).items():
            if isinstance(value, cached_property):
                getattr(self, name)

    @cached_property
    def iommu(self) -> Iommu:
        """Groups, and whether they are translated."""
        return read_iommu(self._reader)

    @cached_property
    def pci_config(self) -> Mapping[str, PciConfig]:
        """Configuration spaces by bus id."""
        return read_pci_config(self._reader.facts("pci_config"))

    @cached_property
    def governors(self) -> Mapping[tuple[str | None, str | None], int]:
        """Policies of the cores' clocks by driver and governor."""
        return read_governors(self._reader)

    @cached_property
    def imex(self) -> Imex:
        """IMEX channels."""
        return read_imex(self._reader)

    @cached_property
    def driver(self) -> DriverReleases:
        """Releases of NVIDIA's driver."""
        return read_driver_releases(self._reader)

    @cached_property
    def fabric_manager(self) -> str | None:
        """The release of the installed fabric manager; None without one, or if not read."""
        return read_fabric_manager(self._reader)

    @cached_property
    def topo_file(self) -> NamedFile | None:
        """The topology file that NCCL begins with."""
        return read_topo_file(self._reader)

    @cached_property
    def identity(self) -> tuple[str | None, str | None]:
        """Host name and boot id, by which NCCL distinguishes hosts."""
        return host_name(self._reader), self._reader.text(BOOT_ID)

    @cached_property
    def process(self) -> Process:
        """Limits and capabilities of the process that read the machine."""
        return read_process(self._reader)

    @cached_property
    def shared_memory(self) -> SharedMemory | None:
        """/dev/shm; None if not read."""
        return read_shared_memory(self._reader)

    @cached_property
    def verbs_stack(self) -> VerbsStack:
        """What libibverbs needs to reach devices."""
        return read_verbs_stack(self._reader)

    @cached_property
    def ip(self) -> IpStack:
        """How the kernel treats IP packets."""
        return read_ip_stack(self._reader)

    @cached_property
    def port_errors(self) -> tuple[PortErrors, ...]:
        """Error counters of RDMA ports."""
        return read_port_errors(self._reader)
