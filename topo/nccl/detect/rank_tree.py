# SPDX-License-Identifier: Apache-2.0
"""The XML that one rank of NCCL makes: a topology file, and what detection adds where the file has nothing.

NCCL's functions: `ncclTopoFillGpu`, `ncclTopoFillNet`, `ncclTopoGetXmlFromSys`, `ncclTopoGetXmlFromCpu` and
`ncclTopoGetXmlFromGpu` (src/graph/xml.cc), `ncclTopoPopulateNics` (src/graph/topo.cc). What is set stays, except
a PCI device's class, a GPU's rank and a NIC's dev.
"""

from railgauge.topo.facts.sources.nvml import NvmlGpu
from railgauge.topo.facts.sources.pci_functions import PciFunction
from railgauge.topo.facts.sources.sysfs_pci import upper_switch
from railgauge.topo.nccl.detect.detection import Detection
from railgauge.topo.nccl.detect.nics import Nic
from railgauge.topo.values.pci_class import DISPLAY, NETWORK
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.tree import TRIMMED, ElementBuilder, thaw, trim

NO_NODE = "-1"  # the kernel's word for no NUMA node; where it is unreadable NCCL writes "", and counts 0
KEEP = "keep"  # NCCL's mark of used elements; not written to files


class RankTree:
    """A growing <system>; `file` is the root of a topology file to start from.

    `unplaced` is the <cpu> of devices with an unknown NUMA node; None: their own <cpu>, as in NCCL.
    """

    def __init__(self, detection: Detection, file: Element | None = None) -> None:
        self.root = thaw(file) if file else ElementBuilder("system", [("version", "1")])
        self.unplaced: ElementBuilder | None = None
        self._detection = detection
        self._file = file
        self._used: list[ElementBuilder] = []
        self._devices: dict[str | None, ElementBuilder] = {}  # <pci> by bus id; of several the first, as in NCCL
        self._nets: dict[str | None, ElementBuilder] = {}  # <net> by name
        for node in self.root.walk() if file else ():
            index, key = (self._devices, "busid") if node.name == "pci" else (self._nets, "name")
            if node.name in ("pci", "net"):
                index.setdefault(node.get(key), node)
        self._host = [("host_hash", detection.host_hash)] if detection.host_hash else []
        for cpu in self.root.all("cpu"):
            cpu.attributes.update(self._host)

    def add_gpu(self, gpu: NvmlGpu, rank: int) -> None:
        """Place the rank's GPU."""
        holder = self.device(gpu.bus_id, DISPLAY)
        node = holder.first("gpu") or holder.add("gpu")
        node.fill(("dev", str(gpu.index)), ("sm", str(gpu.sm)))
        self._add_nvlinks(node, gpu)
        if gpu.c2c and not node.first("c2c"):
            node.add("c2c", ("bw", str(gpu.c2c[1])), ("count", str(gpu.c2c[0])))
        self._used.append(node)
        node.put("rank", str(rank))
        node.fill(("gdr", "0" if gpu.gdr is False else "1"))

    def _add_nvlinks(self, node: ElementBuilder, gpu: NvmlGpu) -> None:
        if not node.first("nvlink"):
            for target, count in gpu.nvlinks:
                node.add("nvlink", ("target", target), ("count", str(count)))
        for link in node.all("nvlink"):
            if link.get("tclass") is None and (found := self._detection.class_of_peer(link.get("target") or "")):
                link.put("tclass", found)

    def add_nics(self, nics: tuple[Nic, ...]) -> None:
        """Place the NICs, each on its PCI device or bare on the first CPU."""
        for dev, nic in enumerate(nics):
            self._add_nic(nic, dev)

    def _add_nic(self, nic: Nic, dev: int) -> None:
        node = self._nets.get(nic.name)
        if node is None:
            parent = self.device(nic.bus_id, NETWORK) if nic.bus_id else self.root.first("cpu") or self.root
            node = (parent.first("nic") or parent.add("nic")).add("net", ("name", nic.name))
            self._nets[nic.name] = node
        self._used.append(node)
        node.put("dev", str(dev))
        node.fill(*nic.attributes)

    def add_cpu(self, numa_id: str) -> ElementBuilder:
        """The <cpu> of a NUMA node with all its facts, created if missing."""
        cpu = next((cpu for cpu in self.root.all("cpu") if cpu.get("numaid") == numa_id), None)
        if cpu is None and self.unplaced and numa_id == NO_NODE:
            return self.unplaced
        cpu = cpu or self.root.add("cpu", *self._host, ("numaid", numa_id))
        self._complete(cpu)
        return cpu

    def trimmed(self, *, keep_cpus: bool = False) -> ElementBuilder:
        """The tree without elements of the file that this machine does not use."""
        if self._file is None:
            return self.root
        for node in self._used:
            node.put(KEEP, "1")
        removable = tuple(name for name in TRIMMED if not (keep_cpus and name == "cpu"))
        kept = trim(self.root.freeze(), lambda element: element.get(KEEP) == "1", removable) or self.root
        for tree in kept.walk():
            tree.attributes.pop(KEEP, None)
        return kept

    def device(self, bus_id: str, fallback_class: str) -> ElementBuilder:
        """The <pci> of a device, with all above it; its class is NCCL's `fallback_class` if sysfs has none."""
        node = self._devices.get(bus_id)
        if node is None:
            node = ElementBuilder("pci", [("busid", bus_id), ("class", fallback_class)])
            self._place(node, self._detection.device(bus_id))
        self._complete(node)
        return node

    def _place(self, node: ElementBuilder, device: PciFunction | None) -> None:
        """Add a device, and the missing switches above it, below their CPU."""
        if device is None:
            self._detection.unknown[node.get("busid") or ""] = None
        self._describe(node, device)
        above = upper_switch(device.folder) if device else None
        if above is None:
            self.add_cpu(NO_NODE if device is None or device.numa is None else str(device.numa)).insert(node)
        else:
            self._switch(self._detection.device_at(above)).insert(node)
        self._devices[node.get("busid")] = node

    def _switch(self, device: PciFunction) -> ElementBuilder:
        """The <pci> of a switch by its upstream port."""
        known = self._devices.get(device.bus_id)
        if known is not None:
            return known
        made = ElementBuilder("pci", [("busid", device.bus_id)])
        self._place(made, device)
        return made

    def _complete(self, node: ElementBuilder) -> None:
        """Fill what a <pci> or <cpu> and those above it lack."""
        if node.name == "cpu":
            node.fill(*self._detection.cpu(node.get("numaid") or ""))
        elif node.name == "pci":
            device = self._detection.device(node.get("busid") or "")
            self._describe(node, device)
            if node.parent:
                self._complete(node.parent)

    def _describe(self, node: ElementBuilder, device: PciFunction | None) -> None:
        if device is None:
            node.fill(("link_speed", ""), ("link_width", ""))
            return
        if device.pci_class is not None:
            node.put("class", device.pci_class)
        node.fill(*self._detection.attributes(device))
        linked = {link.get("target") for link in node.all("pcilink")}
        for peer in self._detection.peers(device):
            if peer not in linked:
                node.add("pcilink", ("target", peer))
