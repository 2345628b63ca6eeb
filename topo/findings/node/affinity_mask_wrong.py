# SPDX-License-Identifier: Apache-2.0
"""CPU masks that cannot be right: of the topology that NCCL plans with, from a file or from the machine."""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.rule import Rule
from railgauge.topo.findings.topology_file import affinity_mask_wrong

NO_NODE = -1


def _check(case: Case) -> Iterator[Finding]:
    told = list(affinity_mask_wrong.RULE.check(case.alone))
    yield from told
    if file := case.sound_file:
        known = {(one.subject, one.message) for one in told}
        found = affinity_mask_wrong.RULE.check(file)
        yield from (replace(one, path=file.topology.path) for one in found if (one.subject, one.message) not in known)
    if case.inventory is not None and not _is_told(case):
        yield RULE.unknown(case.host, "the cores of NUMA nodes were not read (/sys/devices/system/node)")


def _is_told(case: Case) -> bool:
    """Whether the masks of a machine are known. A kernel without NUMA has none, and numa_node is -1 there."""
    nodes = [cpu for cpu in case.file.all("cpu") if cpu.number("numaid") != NO_NODE]
    return bool(case.machine.topology.numa) and all(cpu.get("affinity") for cpu in nodes)


RULE = Rule(
    id=affinity_mask_wrong.RULE.id,
    title=affinity_mask_wrong.RULE.title,
    levels=affinity_mask_wrong.RULE.levels,
    about=(
        "NCCL binds a rank's threads to the mask of the CPU that its GPU hangs on. Masks that overlap, are swapped or "
        "empty put proxies and host buffers on the wrong socket. Topology files of large clouds have had such."
    ),
    passes="every NUMA node has cores of its own, those of the machine",
    reads=("NCCL_TOPO_FILE", "/sys/devices/system/node/node*/cpumap"),
    shows=("Setting affinity for GPU 0 to ffff,0000ffff", "Setting affinity for GPU 0 to 0-15"),
    sure="compare affinity= in the file with /sys/devices/system/node/node*/cpumap",
    remedy=affinity_mask_wrong.RULE.remedy,
    links=("https://github.com/NVIDIA/nccl/issues/644", "https://github.com/NVIDIA/nccl/issues/2441"),
    needs=(),
    check=_check,
)
