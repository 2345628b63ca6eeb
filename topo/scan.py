# SPDX-License-Identifier: Apache-2.0
"""One Topology out of the sources, in the order in which NCCL's fused XML comes about.

Each rank of NCCL makes a tree of its own GPU and all NICs (`ncclTopoGetSystem`); the trees are fused in rank order
(`ncclTopoFuseXml`). So do we. A host without GPUs is one tree with all its NUMA nodes, because its ranks sit on those.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from railgauge.topo.bandwidth import NET_UNKNOWN_MBPS
from railgauge.topo.cpuset import to_list
from railgauge.topo.errors import UnavailableError
from railgauge.topo.settings.visible_devices import visible
from railgauge.topo.sources.affinity import allowed_cores
from railgauge.topo.sources.host_identity import host_hash
from railgauge.topo.sources.nvml import Gpu, read_gpus
from railgauge.topo.sources.reader import Reader
from railgauge.topo.sources.sysfs_net import MAX_CONNECTIONS, SocketNic, socket_nics, why_no_addresses
from railgauge.topo.sources.sysfs_numa import affinity, cpu_identity, numa_nodes
from railgauge.topo.sources.sysfs_pci import gpu_bus_ids, read_device
from railgauge.topo.topology import NumaNode, Topology
from railgauge.topo.tree import Tree, fuse

UNSEEN_SWITCH_CLASS = "0x068000"  # an NVLink peer that sysfs does not show: NCCL takes it for an NVSwitch
INFINIBAND = "/sys/class/infiniband"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A topology and what could not be learnt on the way."""

    topology: Topology
    warnings: tuple[str, ...]


def scan(reader: Reader, environment: Mapping[str, str], gpus: tuple[int, ...] | None = None) -> Scan:
    """Read a machine. `gpus` limits it to those NVML indices, else CUDA_VISIBLE_DEVICES in `environment` does."""
    warnings: list[str] = []
    nvml = reader.facts("nvml")
    if gpus is not None and nvml is not None and "error" in nvml:
        raise UnavailableError(f"--gpus needs NVML: {nvml['error']}")
    found, problems = read_gpus(nvml, reader.facts("cuda"))
    warnings += problems
    warnings += _unlisted(reader, found)
    chosen, problems = visible(found, gpus, environment.get("CUDA_VISIBLE_DEVICES"))
    warnings += problems
    builder = _Builder(reader, host_hash(reader, environment))
    nics = socket_nics(reader, environment)
    trees = [builder.rank_tree(gpu, rank, nics) for rank, gpu in enumerate(chosen)] or [builder.host_tree(nics)]
    root = trees[0]
    for tree in trees[1:]:
        fuse(root, tree)
    topology = Topology(root=root.freeze(), numa=numa_nodes(reader), allowed=allowed_cores(reader))
    warnings += builder.warnings + _remarks(reader, chosen, nics) + _narrowed(topology)
    return Scan(topology=topology, warnings=tuple(dict.fromkeys(warnings)))


def _unlisted(reader: Reader, gpus: tuple[Gpu, ...]) -> list[str]:
    known = {gpu.bus_id.lower() for gpu in gpus}
    missing = [bus_id for bus_id in gpu_bus_ids(reader) if bus_id not in known]
    return [f"GPU {bus_id} is in sysfs but NVML does not list it: it is left out" for bus_id in missing]


def _remarks(reader: Reader, gpus: tuple[Gpu, ...], nics: tuple[SocketNic, ...]) -> list[str]:
    remarks = list(why_no_addresses(reader))
    if not gpus:
        remarks.append("no GPU found: the machine is described for host ranks")
    if not nics:
        remarks.append("no network interface with an address found")
    remarks += [
        f"{nic.name}: its speed is not readable, counted as {NET_UNKNOWN_MBPS // 1000} Gb/s"
        for nic in nics
        if nic.speed_mbps is None
    ]
    if verbs := reader.entries(INFINIBAND):
        remarks.append(f"RDMA devices are not read yet, only sockets are: {', '.join(verbs)}")
    remarks += [f"{path} is not readable: {why}" for path, why in sorted(reader.problems.items())]
    return remarks


def _narrowed(topology: Topology) -> list[str]:
    """NUMA nodes of which this process may not use every core."""
    if topology.allowed is None:
        return []
    left = [(node, tuple(core for core in node.cpus if core in topology.allowed)) for node in topology.numa]
    return [_narrowed_line(node, cores) for node, cores in left if len(cores) < len(node.cpus)]


def _narrowed_line(node: NumaNode, cores: tuple[int, ...]) -> str:
    which = f" ({to_list(cores)})" if cores else ""
    return f"NUMA node {node.id}: {len(cores)} of its {len(node.cpus)} cores may be used{which} by host ranks"


class _Builder:
    """Makes the trees of one scan: what NCCL's `ncclTopoFillGpu`, `ncclTopoFillNet` and `ncclTopoGetXmlFromSys` do."""

    def __init__(self, reader: Reader, host_hash: str) -> None:
        self.reader = reader
        self.host_hash = host_hash
        self.identity = cpu_identity(reader.text("/proc/cpuinfo") or "")
        self.warnings: list[str] = []

    def rank_tree(self, gpu: Gpu, rank: int, nics: tuple[SocketNic, ...]) -> Tree:
        """The tree of one rank: its GPU, then all NICs."""
        root = Tree("system", [("version", "1")])
        pci = self._pci(root, gpu.bus_id, "0x03")
        pci.children.append(self._gpu(gpu, rank))
        self._nics(root, nics)
        return root

    def host_tree(self, nics: tuple[SocketNic, ...]) -> Tree:
        """The tree of a host without GPUs: its NUMA nodes, then all NICs."""
        root = Tree("system", [("version", "1")])
        for node in numa_nodes(self.reader):
            self._cpu(root, str(node.id))
        if not root.children:
            self.warnings.append("no NUMA node found in sysfs: the cores are unknown")
            self._cpu(root, "-1")
        self._nics(root, nics)
        return root

    def _gpu(self, gpu: Gpu, rank: int) -> Tree:
        direct = gpu.gdr if gpu.gdr is not None else True
        node = Tree(
            "gpu", [("dev", str(gpu.index)), ("sm", str(gpu.sm)), ("rank", str(rank)), ("gdr", str(int(direct)))]
        )
        for target, count in gpu.nvlinks:
            node.add("nvlink", ("target", target), ("count", str(count)), ("tclass", self._class_of(target)))
        if gpu.c2c:
            node.add("c2c", ("bw", str(gpu.c2c[1])), ("count", str(gpu.c2c[0])))
        return node

    def _class_of(self, bus_id: str) -> str:
        device = read_device(self.reader, bus_id)
        return (device.get("class") if device else None) or UNSEEN_SWITCH_CLASS

    def _nics(self, root: Tree, nics: tuple[SocketNic, ...]) -> None:
        for number, nic in enumerate(nics):
            if nic.bus_id is None:
                self.warnings.append(f"{nic.name} hangs on the first CPU: {nic.why_no_bus}")
            parent = self._pci(root, nic.bus_id, "0x02") if nic.bus_id else root.first("cpu")
            holder = parent.first("nic") or parent.add("nic") if parent else root.add("nic")
            holder.add("net", *_net_attributes(nic, number))

    def _pci(self, root: Tree, bus_id: str, fallback_class: str) -> Tree:
        """The <pci> of a device; made, with all above it, when it is not there yet."""
        found = root.find("pci", "busid", bus_id)
        if found is not None:
            return found
        device = read_device(self.reader, bus_id)
        node = Tree("pci", [("busid", bus_id)])
        if device is None:
            self.warnings.append(f"PCI device {bus_id} is not in sysfs: it hangs on an unknown CPU")
            node.attributes += [("class", fallback_class), ("link_speed", ""), ("link_width", "")]
            self._cpu(root, "-1").insert(node)
            return node
        node.attributes += device.attributes
        node.children += [Tree("pcilink", [("target", peer)]) for peer in device.peers]
        above = self._pci(root, device.parent, "0x0604") if device.parent else self._cpu(root, device.numa_node)
        above.insert(node)
        return node

    def _cpu(self, root: Tree, numa_id: str) -> Tree:
        """The <cpu> of a NUMA node, made when it is not there yet."""
        found = root.find("cpu", "numaid", numa_id)
        if found is not None:
            return found
        if numa_id == "-1" and not any(True for node in root.walk() if node.name == "gpu") and root.first("cpu"):
            known = root.first("cpu")
            if known is not None and known.get("affinity"):
                return known  # a host without GPUs: an unplaced NIC goes where the cores are
        attributes = (("host_hash", self.host_hash), ("numaid", numa_id), *affinity(self.reader, numa_id))
        return root.add("cpu", *attributes, *self.identity)


def _net_attributes(nic: SocketNic, number: int) -> tuple[tuple[str, str], ...]:
    """Attributes of a socket <net>: sockets have neither port nor GUID, and no GPUDirect RDMA."""
    return (
        ("name", nic.name),
        ("dev", str(number)),
        ("latency", "0"),
        ("speed", str(nic.speed_mbps or NET_UNKNOWN_MBPS)),
        ("port", "0"),
        ("guid", "0x0"),
        ("maxconn", str(MAX_CONNECTIONS)),
        ("gdr", "0"),
    )
