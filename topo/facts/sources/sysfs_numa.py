# SPDX-License-Identifier: Apache-2.0
"""NUMA nodes from /sys/devices/system/node: their cores as numbers, and as the mask that NCCL writes.

NCCL's function: `ncclTopoGetXmlFromCpu`.
"""

import re

from railgauge.topo.errors import InputError
from railgauge.topo.facts.reader import Reader
from railgauge.topo.values.cpuset import MAX_CORES, from_list
from railgauge.topo.values.numa_node import NumaNode
from railgauge.topo.values.number import whole

NODES = "/sys/devices/system/node"
LONGEST_VALUE, ZERO_WORD = 253, "00000000,"  # what `xmlGetValue` of NCCL reads: 28 words of 32 cores


def numa_nodes(reader: Reader) -> tuple[NumaNode, ...]:
    """The NUMA nodes that have cores, by number; a kernel without NUMA counts as one node 0 with all cores."""
    names = [name for name in reader.entries(NODES) if re.fullmatch(r"node[0-9]{1,9}", name)]
    nodes: list[NumaNode] = []
    cores = 0
    for node in filter(None, (_node(reader, int(name[4:])) for name in names)):
        nodes.append(node)
        cores += len(node.cpus)
        if cores > MAX_CORES:
            raise InputError(f"NUMA nodes in {NODES} list more than {MAX_CORES} cores in total")
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
    """The attribute of <cpu> for the cores of a NUMA node; none when it is unreadable.

    Words of zeros go from the head of a mask that NCCL has no room for, which it would cut off at the other end.
    """
    mask = reader.text(f"{NODES}/node{numa_id}/cpumap") or ""
    while len(mask) > LONGEST_VALUE and mask.startswith(ZERO_WORD):
        mask = mask.removeprefix(ZERO_WORD)
    return (("affinity", mask),) if 0 < len(mask) <= LONGEST_VALUE else ()
