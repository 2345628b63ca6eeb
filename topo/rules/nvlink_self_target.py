# SPDX-License-Identifier: Apache-2.0
"""NVLinks that end at the GPU they start from, in a topology file or in what NVML tells."""

from railgauge.topo.lint import nvlink_self_target
from railgauge.topo.rules.rule import Rule

RULE = Rule(
    id=nvlink_self_target.RULE.id,
    title=nvlink_self_target.RULE.title,
    levels=nvlink_self_target.RULE.levels,
    about=(
        "NCCL wires a GPU to the bus id that an <nvlink> names. Where that is the GPU itself, as in files made for "
        "virtual machines that hide the NVSwitches, its NVLinks lead nowhere and its peers are reached over PCI."
    ),
    passes="no NVLink ends at the GPU it starts from",
    reads=("NCCL_TOPO_FILE", "nvmlDeviceGetNvLinkRemotePciInfo"),
    shows=("+ NVL[...] - GPU/...",),
    sure="nvidia-smi nvlink -R; railgauge topo lint FILE",
    remedy=nvlink_self_target.RULE.remedy,
    links=("https://github.com/NVIDIA/nccl/issues/573",),
    needs=(),
    check=lambda case: nvlink_self_target.RULE.check(case.file),
)
