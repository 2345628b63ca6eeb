# SPDX-License-Identifier: Apache-2.0
"""CPU masks that cannot be right: of the topology that NCCL plans with, from a file or from the machine."""

from railgauge.topo.lint import affinity_mask_wrong
from railgauge.topo.rules.rule import Rule

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
    check=lambda case: affinity_mask_wrong.RULE.check(case.file),
)
