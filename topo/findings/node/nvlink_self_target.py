# SPDX-License-Identifier: Apache-2.0
"""NVLinks that end at the GPU they start from, in a topology file or in what NVML tells."""

from collections.abc import Iterator

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.findings.topology_file import nvlink_self_target


def _check(case: Case) -> Iterator[Finding]:
    yield from nvlink_self_target.RULE.check(case.file)
    if silent := missing(Need.NVML, case):
        yield RULE.unknown(case.host, silent)


RULE = Rule(
    id=nvlink_self_target.RULE.id,
    title=nvlink_self_target.RULE.title,
    levels=(*nvlink_self_target.RULE.levels, Level.UNKNOWN),
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
    concerns=has_gpus,
    check=_check,
)
