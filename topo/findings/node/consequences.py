# SPDX-License-Identifier: Apache-2.0
"""What only follows from another finding of the same machine refers to it: an expectation that a lost GPU breaks."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from railgauge.topo.findings.cards.comparison import EXPECTATION_UNMET
from railgauge.topo.findings.cards.gdr import DMABUF_UNSUPPORTED, PEERMEM_MISSING
from railgauge.topo.findings.cards.gpus import GPU_LOST, GPU_NIC_FAR, P2P_UNSUPPORTED
from railgauge.topo.findings.cards.nvlink import NVLINK_MISSING
from railgauge.topo.findings.cards.pcie import PCIE_LINK_DEGRADED
from railgauge.topo.findings.cards.rdma import NIC_LOST, VERBS_DEVICE_MISSING, VERBS_PROVIDER_MISSING
from railgauge.topo.findings.cards.rdma_ports import IB_PORT_DOWN, IB_RATE_LOW
from railgauge.topo.findings.finding import Finding, Level

FOLLOWS_FROM = "follows_from"
"""In the evidence of a consequence: the id and the subject of its cause."""
PROFILE = "profile "  # the source of what a model's profile expects: nobody asked for it, so its cause is enough
BAD = (Level.FAIL, Level.WARN)
LOUD = (*BAD, Level.INFO)
CAUSES: Mapping[tuple[str, str], tuple[str, ...]] = {
    (EXPECTATION_UNMET.id, "gpus"): (GPU_LOST.id,),
    (EXPECTATION_UNMET.id, "nics"): (NIC_LOST.id,),
    (EXPECTATION_UNMET.id, "nvlinks"): (NVLINK_MISSING.id, GPU_LOST.id),
    (EXPECTATION_UNMET.id, "link"): (PCIE_LINK_DEGRADED.id,),
    (EXPECTATION_UNMET.id, "nic_link"): (PCIE_LINK_DEGRADED.id,),
    (EXPECTATION_UNMET.id, "rate"): (IB_PORT_DOWN.id, IB_RATE_LOW.id, NIC_LOST.id),
    (NVLINK_MISSING.id, ""): (GPU_LOST.id,),
    (P2P_UNSUPPORTED.id, ""): (GPU_LOST.id,),
    (DMABUF_UNSUPPORTED.id, ""): (PEERMEM_MISSING.id,),
    (GPU_NIC_FAR.id, ""): (NIC_LOST.id, GPU_LOST.id, IB_PORT_DOWN.id),
    (VERBS_DEVICE_MISSING.id, ""): (NIC_LOST.id,),
    (VERBS_PROVIDER_MISSING.id, ""): (NIC_LOST.id,),
}
"""By id and subject, "" for any: what may cause it, the likeliest first."""


def with_causes(findings: Iterable[Finding]) -> list[Finding]:
    """The findings; those that follow from a WARN or FAIL of the machine name it."""
    found = list(findings)
    bad: dict[str, Finding] = {}
    for one in found:
        if one.level in BAD:
            bad.setdefault(one.id, one)
    return [_with_cause(one, bad) if one.level in LOUD else one for one in found]


def _with_cause(one: Finding, bad: Mapping[str, Finding]) -> Finding:
    ids = CAUSES.get((one.id, one.subject)) or CAUSES.get((one.id, ""), ())
    cause = next((bad[identifier] for identifier in ids if identifier in bad), None)
    if cause is None:
        return one
    message = f"{one.message} (follows from {cause.id}: {cause.subject})"
    level = Level.INFO if str(one.evidence.get("expected_by", "")).startswith(PROFILE) else one.level
    return replace(
        one, level=level, message=message, evidence={**one.evidence, FOLLOWS_FROM: [cause.id, cause.subject]}
    )
