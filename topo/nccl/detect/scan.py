# SPDX-License-Identifier: Apache-2.0
"""Makes one Topology from the sources, in the order of NCCL's fused XML.

Each rank of NCCL makes a tree of its own GPU and all NICs (`ncclTopoGetSystem`); the trees are fused in rank order
(`ncclTopoFuseXml`). So do we. A host without GPUs is one tree with all its NUMA nodes, because its ranks run on those.
"""

from collections.abc import Mapping
from typing import NamedTuple

from railgauge.topo.errors import UnavailableError
from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.affinity import allowed_cores
from railgauge.topo.facts.sources.nvml import NvmlGpu, no_nvml, read_gpus
from railgauge.topo.facts.sources.sysfs_numa import numa_nodes
from railgauge.topo.facts.sources.sysfs_pci import gpu_bus_ids
from railgauge.topo.nccl.detect.detection import Detection
from railgauge.topo.nccl.detect.nics import Nic, read_nics
from railgauge.topo.nccl.detect.rank_tree import NO_NODE, RankTree
from railgauge.topo.nccl.detect.topo_file import differences, given_file, known, origin
from railgauge.topo.nccl.settings.visible_devices import visible
from railgauge.topo.values.numa_node import NumaNode
from railgauge.topo.values.spans import listed
from railgauge.topo.xml.element import Element
from railgauge.topo.xml.topology import Topology
from railgauge.topo.xml.tree import ElementBuilder, fuse


class Scan(NamedTuple):
    """A topology, and warnings about what could not be read."""

    topology: Topology
    warnings: tuple[str, ...]


def scan(
    reader: Reader,
    environment: Mapping[str, str],
    gpus: tuple[int, ...] | None = None,
    topo_file: Topology | None = None,
    *,
    tolerant: bool = False,
) -> Scan:
    """Read a machine.

    `gpus` limits it to those NVML indices, else CUDA_VISIBLE_DEVICES in `environment` does. `topo_file` is taken
    as it is; without one the file that NCCL would use applies. InputError if that is invalid, or a warning if
    `tolerant`.
    """
    found, chosen, warnings = _gpus(reader, environment, gpus)
    if not chosen:
        warnings.append(_host_ranks(reader, found))
    nics, remarks = read_nics(reader, environment)
    warnings += remarks
    if topo_file is None:
        topo_file, remarks = given_file(reader, environment, tolerant=tolerant)
        warnings += remarks
    numa = numa_nodes(reader)
    detection = Detection(reader, environment)
    root = _fused(detection, topo_file, chosen, nics, numa)
    topology = Topology(root=root, numa=numa, allowed=allowed_cores(reader))
    if topo_file:
        warnings += [origin(topo_file, root), *differences(topo_file, found, chosen, nics)]
    if not chosen and not numa:
        warnings.append("no NUMA node in sysfs: cores are unknown")
    if is_pasted(reader):
        return Scan(topology=topology, warnings=tuple(dict.fromkeys(warnings)))
    warnings += detection.unsaid
    warnings += [f"PCI device {bus_id} is not in sysfs: its CPU is unknown" for bus_id in detection.unknown]
    warnings += [
        f"PCI device {bus_id} could not be read completely: was it just removed?" for bus_id in detection.partial
    ]
    warnings += [f"{path} is not readable: {why}" for path, why in sorted(reader.problems.items())]
    warnings += _narrowed(topology)
    return Scan(topology=topology, warnings=tuple(dict.fromkeys(warnings)))


def is_pasted(reader: Reader) -> bool:
    """Whether a machine is made of other tools' outputs: of what those do not have nobody expects a warning each."""
    return bool(getattr(reader, "pasted", ()))


def _gpus(
    reader: Reader, environment: Mapping[str, str], gpus: tuple[int, ...] | None
) -> tuple[tuple[NvmlGpu, ...], tuple[NvmlGpu, ...], list[str]]:
    """All GPUs, those that take part in rank order, and remarks."""
    nvml = reader.facts("nvml")
    if gpus is not None and nvml is not None and "error" in nvml:
        raise UnavailableError(f"--gpus needs NVML: {nvml['error']}")
    found, problems = read_gpus(nvml, reader.facts("cuda"))
    problems = () if is_pasted(reader) else problems
    left_out = _unlisted(reader, found)
    problems = tuple(problem for problem in problems if not any(problem in line for line in left_out))
    chosen, remarks = visible(found, gpus, environment.get("CUDA_VISIBLE_DEVICES"))
    return found, chosen, [*problems, *left_out, *remarks, *_sliced(chosen)]


def _fused(
    detection: Detection,
    topo_file: Topology | None,
    gpus: tuple[NvmlGpu, ...],
    nics: tuple[Nic, ...],
    numa: tuple[NumaNode, ...],
) -> Element:
    """The trees of all ranks, fused."""
    file = known(topo_file) if topo_file else None
    trees = [_rank_tree(detection, file, gpu, rank, nics) for rank, gpu in enumerate(gpus)]
    root = trees[0] if trees else _host_tree(detection, file, numa, nics)
    for tree in trees[1:]:
        fuse(root, tree)
    return root.freeze()


def _rank_tree(
    detection: Detection, file: Element | None, gpu: NvmlGpu, rank: int, nics: tuple[Nic, ...]
) -> ElementBuilder:
    """The tree of one rank: its GPU, then all NICs."""
    tree = RankTree(detection, file)
    tree.add_gpu(gpu, rank)
    tree.add_nics(nics)
    return tree.trimmed()


def _host_tree(
    detection: Detection, file: Element | None, numa: tuple[NumaNode, ...], nics: tuple[Nic, ...]
) -> ElementBuilder:
    """The tree of a host without GPUs: its NUMA nodes, then all NICs (on the first with cores if unknown)."""
    tree = RankTree(detection, file)
    for node in numa:
        tree.add_cpu(str(node.id))
    first = tree.root.first("cpu") or tree.add_cpu(NO_NODE)
    tree.unplaced = first if first.get("affinity") else None
    tree.add_nics(nics)
    return tree.trimmed(keep_cpus=True)


def _unlisted(reader: Reader, gpus: tuple[NvmlGpu, ...]) -> list[str]:
    """One line on the GPUs that the kernel shows but that take no part, with the reason."""
    known = {gpu.bus_id.lower() for gpu in gpus}
    missing = [bus_id for bus_id in gpu_bus_ids(reader) if bus_id not in known]
    silent = no_nvml(reader.facts("nvml"))
    why = "not listed by CUDA" if silent and gpus else silent or "not listed by NVML"
    return [f"GPU {', '.join(missing)} left out: {why}"] if missing else []


def _host_ranks(reader: Reader, gpus: tuple[NvmlGpu, ...]) -> str:
    """Why no GPU takes part; "no GPU found" only if that is known."""
    why = "no GPU found"
    if gpus or gpu_bus_ids(reader):
        why = "no GPU takes part"
    elif "error" in (reader.facts("nvml") or {}):
        why = "GPUs unknown"
    return f"{why}: describing the machine for host ranks"


def _sliced(gpus: tuple[NvmlGpu, ...]) -> list[str]:
    """A remark on GPUs in MIG mode, of which NCCL's XML has the whole GPU."""
    names = ", ".join(f"GPU{gpu.index}" for gpu in gpus if gpu.mig)
    return [f"MIG is on: {names}: MIG instances have no peer access and are shown as their whole GPU"] if names else []


def _narrowed(topology: Topology) -> list[str]:
    """Remarks on NUMA nodes of which this process may not use every core."""
    if topology.allowed is None:
        return []
    left = [(node, tuple(core for core in node.cpus if core in topology.allowed)) for node in topology.numa]
    return [_narrowed_line(node, cores) for node, cores in left if len(cores) < len(node.cpus)]


def _narrowed_line(node: NumaNode, cores: tuple[int, ...]) -> str:
    which = f" ({listed(cores)})" if cores else ""
    return f"NUMA{node.id}: host ranks may use {len(cores)} of {len(node.cpus)} cores{which}"
