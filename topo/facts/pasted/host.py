# SPDX-License-Identifier: Apache-2.0
"""What pasted outputs of one host say, collected before it becomes a capture (build.py)."""

from dataclasses import dataclass, field
from typing import Any

from railgauge.topo.facts.pasted.smi_matrix import SmiMatrix


@dataclass(slots=True, kw_only=True)
class PastedFunction:
    """One PCI function. above: the bus id of the port above, "" below the host bridge, None if it is not said.

    ids: vendor, device, subsystem vendor and device as sysfs spells them; links are (GT/s, lanes), now and at most.
    acs: the ACS control word; port: the device or port type; whole_config: whether lspci, by root, showed extended
    capabilities. Each is None if the output does not have it.
    """

    bus_id: str
    above: str | None = None
    pci_class: str | None = None
    vendor: str | None = None
    device: str | None = None
    subsystem_vendor: str | None = None
    subsystem_device: str | None = None
    now: tuple[float | None, int | None] = (None, None)
    most: tuple[float | None, int | None] = (None, None)
    numa: int | None = None
    driver: str | None = None
    acs: int | None = None
    port: int | None = None
    relaxed_ordering: bool | None = None
    whole_config: bool = False
    in_lspci: bool = False
    root_bus: str = ""
    name: str = ""


@dataclass(slots=True, kw_only=True)
class PastedPort:
    """One port of an RDMA device: files of its folder in sysfs by name, GIDs as (gid, type, interface) by index, MTUs
    as libibverbs numbers them.
    """

    files: dict[str, str] = field(default_factory=dict)
    gids: dict[int, tuple[str, str | None, str | None]] = field(default_factory=dict)
    netdev: str | None = None
    mtu: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class PastedRdma:
    """One RDMA device: files of its folder in sysfs by name, ports by number, libibverbs' answers by name.

    gone: it is listed, and cannot be read.
    """

    bus_id: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    ports: dict[int, PastedPort] = field(default_factory=dict)
    verbs: dict[str, int] = field(default_factory=dict)
    gone: bool = False

    def port(self, number: int) -> PastedPort:
        """The port of that number, added if it is new."""
        return self.ports.setdefault(number, PastedPort())


@dataclass(slots=True, kw_only=True)
class PastedHost:
    """One host. tools: the outputs that were recognised. gpus: NVML's answers by index, in the shape of a capture's;
    health: those about their health; numa: cores of a NUMA node as a list ("0-15"), "" if unknown; assumed: what the
    outputs do not say and was assumed, as sentences. without_gids: show_gids found no GID of any device.
    """

    tools: list[str] = field(default_factory=list)
    matrix: SmiMatrix | None = None
    p2p: dict[tuple[int, int], list[int | None]] = field(default_factory=dict)
    gpus: dict[int, dict[str, Any]] = field(default_factory=dict)
    health: dict[int, dict[str, Any]] = field(default_factory=dict)
    driver: str | None = None
    cuda: int | None = None
    functions: dict[str, PastedFunction] = field(default_factory=dict)
    rdma: dict[str, PastedRdma] = field(default_factory=dict)
    rdma_listed: bool = False
    without_gids: bool = False
    interfaces: dict[str, dict[str, Any]] = field(default_factory=dict)
    addresses: bool = False
    numa: dict[int, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    kernel_log: dict[str, Any] | None = None
    assumed: list[str] = field(default_factory=list)

    def gpu(self, index: int) -> dict[str, Any]:
        """NVML's answer about a GPU, added if it is new."""
        return self.gpus.setdefault(index, {"index": index})

    def function(self, bus_id: str) -> PastedFunction:
        """The PCI function of that bus id, added if it is new."""
        return self.functions.setdefault(bus_id, PastedFunction(bus_id=bus_id))

    def device(self, name: str) -> PastedRdma:
        """The RDMA device of that name, added if it is new."""
        return self.rdma.setdefault(name, PastedRdma())

    def interface(self, name: str) -> dict[str, Any]:
        """The network interface of that name, added if it is new."""
        return self.interfaces.setdefault(name, {"name": name})
