# SPDX-License-Identifier: Apache-2.0
"""What only follows from another finding of the same machine refers to it: an expectation that a lost GPU breaks, and
the error counts of a memory error that the driver reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from railgauge.topo.findings.cards.comparison import (
    CHANGED_SINCE,
    DEVICES_DIFFER,
    EXPECTATION_UNMET,
    SLOWER_THAN_BEFORE,
)
from railgauge.topo.findings.cards.gdr import DMABUF_UNSUPPORTED, PEERMEM_MISSING
from railgauge.topo.findings.cards.gpus import GPU_LOST, GPU_NIC_FAR, P2P_UNSUPPORTED
from railgauge.topo.findings.cards.health import (
    GPU_CLOCK_LOW,
    GPU_MEMORY_ERRORS,
    GPU_PAGES_RETIRED,
    GPU_RECOVERY_NEEDED,
    GPU_ROW_REMAP,
    GPU_THROTTLED,
    GPU_XID,
    NVLINK_ERRORS,
    NVSWITCH_SXID,
)
from railgauge.topo.findings.cards.nvlink import FABRIC_NOT_READY, NVLINK_MISSING
from railgauge.topo.findings.cards.pcie import PCIE_LINK_DEGRADED
from railgauge.topo.findings.cards.rdma import NIC_LOST, VERBS_DEVICE_MISSING, VERBS_PROVIDER_MISSING
from railgauge.topo.findings.cards.rdma_ports import IB_PORT_DOWN, IB_RATE_LOW
from railgauge.topo.findings.devices import named_devices
from railgauge.topo.findings.finding import Finding, Level, may_hide
from railgauge.topo.findings.node.effect import ON_SEVERAL
from railgauge.topo.findings.topology_file.nvlink_missing import DOWN_TO
from railgauge.topo.findings.xid_catalogue import LOST_XIDS, MEMORY_XIDS, NVLINK_XIDS, RECOVERY_CHANGED, REMOVED

FOLLOWS_FROM = "follows_from"
"""In the evidence of a consequence: the id and the subject of its cause."""
FOLLOWS_FROM_XID = "follows_from_xid"
"""Beside it, where the cause is an Xid, of which a GPU may have several."""
XID = "xid"
PROFILE = "profile "  # the source of what a model's profile expects: nobody asked for it, so its cause is enough
BAD = (Level.FAIL, Level.WARN)
LOUD = (*BAD, Level.INFO)
CAUSES: Mapping[tuple[str, str], tuple[str, ...]] = {
    (EXPECTATION_UNMET.id, "gpus"): (GPU_LOST.id,),
    (EXPECTATION_UNMET.id, "model"): (DEVICES_DIFFER.id,),
    (EXPECTATION_UNMET.id, "nics"): (NIC_LOST.id,),
    (EXPECTATION_UNMET.id, "nvlinks"): (NVLINK_MISSING.id, GPU_LOST.id),
    (EXPECTATION_UNMET.id, "link"): (PCIE_LINK_DEGRADED.id, GPU_LOST.id),
    (EXPECTATION_UNMET.id, "nic_link"): (PCIE_LINK_DEGRADED.id, NIC_LOST.id),
    (EXPECTATION_UNMET.id, "rate"): (IB_PORT_DOWN.id, IB_RATE_LOW.id, NIC_LOST.id),
    (NVLINK_MISSING.id, ""): (GPU_LOST.id,),
    (P2P_UNSUPPORTED.id, ""): (GPU_LOST.id,),
    (DMABUF_UNSUPPORTED.id, ""): (PEERMEM_MISSING.id,),
    (GPU_NIC_FAR.id, ""): (
        NIC_LOST.id,
        GPU_LOST.id,
        IB_PORT_DOWN.id,
        VERBS_DEVICE_MISSING.id,
        VERBS_PROVIDER_MISSING.id,
    ),
    (VERBS_DEVICE_MISSING.id, ""): (NIC_LOST.id,),
    (VERBS_PROVIDER_MISSING.id, ""): (NIC_LOST.id,),
}
"""By id and subject, "" for any: what may cause it, the likeliest first."""
OF_DEVICE: Mapping[str, tuple[str, frozenset[int]]] = {
    GPU_MEMORY_ERRORS.id: (GPU_XID.id, MEMORY_XIDS),
    GPU_ROW_REMAP.id: (GPU_XID.id, MEMORY_XIDS),
    GPU_PAGES_RETIRED.id: (GPU_XID.id, MEMORY_XIDS),
    NVLINK_ERRORS.id: (GPU_XID.id, NVLINK_XIDS),
    NVLINK_MISSING.id: (GPU_XID.id, NVLINK_XIDS),
    GPU_LOST.id: (GPU_XID.id, LOST_XIDS),
    GPU_RECOVERY_NEEDED.id: (GPU_XID.id, frozenset()),
    GPU_CLOCK_LOW.id: (GPU_THROTTLED.id, frozenset()),
}
"""By id: what causes it on the same device, with the Xids that do; none for all of them."""
SAME_FAULT = (MEMORY_XIDS, NVLINK_XIDS, LOST_XIDS)
"""Xids that report one fault where one GPU has several of them."""
AFTER_ANY = frozenset({REMOVED, RECOVERY_CHANGED})
"""Xids that follow from the others of their GPU."""
COMPARING = (SLOWER_THAN_BEFORE.id, CHANGED_SINCE.id)


def with_causes(findings: Iterable[Finding]) -> list[Finding]:
    """The findings; those that follow from a WARN or FAIL of the machine name it, and of several the first cause."""
    found = list(findings)
    bad = sorted((one for one in found if one.level in BAD), key=lambda one: BAD.index(one.level))
    direct = {id(one): cause for one in found if one.level in LOUD and (cause := _cause(one, bad)) is not None}
    return [_referring(one, _first(direct[id(one)], direct)) if id(one) in direct else one for one in found]


def is_cause(other: Finding, one: Finding) -> bool:
    """Whether a finding names another one as its cause."""
    if [other.id, other.subject] != list(one.evidence.get(FOLLOWS_FROM, ())):
        return False
    return FOLLOWS_FROM_XID not in one.evidence or one.evidence[FOLLOWS_FROM_XID] == other.evidence.get(XID)


def _cause(one: Finding, bad: Sequence[Finding]) -> Finding | None:
    """What a finding follows from, the likeliest; None if it stands for itself."""
    others = [other for other in bad if other is not one and may_hide(other, one)]
    if one.id == GPU_XID.id:
        before = bad[: bad.index(one)] if one in bad else bad
        return next((other for other in (others if _after_any(one) else before) if _is_same_fault(other, one)), None)
    if one.id == NVLINK_MISSING.id and one.evidence.get(DOWN_TO):
        return next((other for other in others if _ends_links(other, one) or _breaks_device(other, one)), None)
    for identifier in CAUSES.get((one.id, one.subject)) or CAUSES.get((one.id, ""), ()):
        if cause := next((other for other in others if other.id == identifier), None):
            return cause
    return next((other for other in others if _breaks_device(other, one)), None)


def _breaks_device(other: Finding, one: Finding) -> bool:
    """Whether a finding is the cause of another one of the same device."""
    if one.id in COMPARING:
        price = other.effect.partition(ON_SEVERAL)[0]
        priced = bool(price) and one.message.endswith(price)
        same = priced or bool(named_devices(one.subject) & named_devices(other.subject))
        return same and other.id not in COMPARING
    if one.id == FABRIC_NOT_READY.id:
        return other.id == NVSWITCH_SXID.id
    identifier, xids = OF_DEVICE.get(one.id, ("", frozenset()))
    return other.id == identifier and other.subject == one.subject and (not xids or other.evidence.get(XID) in xids)


def _ends_links(other: Finding, one: Finding) -> bool:
    """Whether all NVLinks that a GPU lacks end at a lost GPU, or at one that lacks more of them."""
    missing = _missing_links(one)
    if one.evidence[DOWN_TO].get(other.subject, 0) < missing:
        return False
    return other.id == GPU_LOST.id or (other.id == one.id and _missing_links(other) > missing)


def _missing_links(one: Finding) -> int:
    full = one.evidence.get("listed", one.evidence.get("usual", 0))
    return int(full - one.evidence.get("count", full))


def _is_same_fault(other: Finding, one: Finding) -> bool:
    """Whether an Xid reports the fault of another one of its GPU."""
    if (other.id, other.subject) != (one.id, one.subject):
        return False
    pair = {other.evidence.get(XID), one.evidence.get(XID)}
    return (_after_any(one) and not _after_any(other)) or any(pair <= alike for alike in SAME_FAULT)


def _after_any(one: Finding) -> bool:
    return one.evidence.get(XID) in AFTER_ANY


def _first(cause: Finding, direct: Mapping[int, Finding]) -> Finding:
    """The end of a chain of causes."""
    seen = {id(cause)}
    while (further := direct.get(id(cause))) is not None and id(further) not in seen:
        seen.add(id(further))
        cause = further
    return cause


def _referring(one: Finding, cause: Finding) -> Finding:
    """A finding that names its cause."""
    message = f"{one.message} (follows from {cause.id}: {cause.subject})"
    level = Level.INFO if str(one.evidence.get("expected_by", "")).startswith(PROFILE) else one.level
    xid = {FOLLOWS_FROM_XID: cause.evidence[XID]} if cause.evidence.get(XID) is not None else {}
    evidence = {**one.evidence, FOLLOWS_FROM: [cause.id, cause.subject], **xid}
    return replace(one, level=level, message=message, evidence=evidence)
