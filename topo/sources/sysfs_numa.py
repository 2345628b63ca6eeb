# SPDX-License-Identifier: Apache-2.0
"""NUMA nodes and CPU identity: /sys/devices/system/node, /proc/cpuinfo.

NCCL's `ncclTopoGetXmlFromCpu` reads the node's cpumap and the CPUID instruction; /proc/cpuinfo holds the same values
decoded, so they are folded back into CPUID's fields here.
"""

import re

from railgauge.topo.cpuset import from_list
from railgauge.topo.sources.number import whole
from railgauge.topo.sources.reader import Reader
from railgauge.topo.topology import NumaNode

NODES = "/sys/devices/system/node"
EXTENDED_FAMILY = 15  # CPUID leaf 1: families from 15 on are 15 + the extended field


def numa_nodes(reader: Reader) -> tuple[NumaNode, ...]:
    """The NUMA nodes that have cores, by number; a kernel without NUMA counts as one node 0 with all cores."""
    names = [name for name in reader.entries(NODES) if re.fullmatch(r"node[0-9]{1,9}", name)]
    nodes = [node for name in names if (node := _node(reader, int(name[4:]))) is not None]
    if nodes:
        return tuple(sorted(nodes, key=lambda node: node.id))
    cpus = _cores(reader.text("/sys/devices/system/cpu/online"))
    return (NumaNode(id=0, cpus=cpus),) if cpus else ()


def _node(reader: Reader, number: int) -> NumaNode | None:
    cpus = _cores(reader.text(f"{NODES}/node{number}/cpulist"))
    if not cpus:
        return None  # memory without cores: HBM, CXL, or a GPU's own
    speed = whole(reader.text(f"{NODES}/node{number}/access0/initiators/read_bandwidth"))  # MB/s, from HMAT
    return NumaNode(id=number, cpus=cpus, read_gb_per_s=speed / 1000 if speed and speed > 0 else None)


def _cores(text: str | None) -> tuple[int, ...]:
    try:
        return from_list(text or "")
    except ValueError:
        return ()


def affinity(reader: Reader, numa_id: str) -> tuple[tuple[str, str], ...]:
    """The attribute of <cpu> for the cores of a NUMA node; none when it is unreadable."""
    mask = reader.text(f"{NODES}/node{numa_id}/cpumap")
    return (("affinity", mask),) if mask else ()


def cpu_identity(cpuinfo: str) -> tuple[tuple[str, str], ...]:
    """Arch, and on x86 vendor, familyid and modelid, from /proc/cpuinfo's first processor."""
    first = cpuinfo.split("\n\n", 1)[0]
    fields = {key.strip(): value.strip(" ") for key, _, value in (line.partition(":") for line in first.splitlines())}
    if "vendor_id" in fields:
        return _x86_identity(fields)
    if "CPU implementer" in fields:
        return (("arch", "arm64"),)
    if fields.get("cpu", "").startswith("POWER"):
        return (("arch", "ppc64"),)
    return ()


def _x86_identity(fields: dict[str, str]) -> tuple[tuple[str, str], ...]:
    identity = [("arch", "x86_64"), ("vendor", fields["vendor_id"])]
    family, model = whole(fields.get("cpu family")), whole(fields.get("model"))
    if family is not None and model is not None:
        identity += [("familyid", str(cpuid_family(family))), ("modelid", str(model))]
    return tuple(identity)


def cpuid_family(family: int) -> int:
    """NCCL's familyid of a decoded CPU family: base + extended * 16, so that AMD's family 25 is 0xaf."""
    if family < EXTENDED_FAMILY:
        return family
    return EXTENDED_FAMILY + ((family - EXTENDED_FAMILY) << 4)
