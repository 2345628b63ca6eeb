# SPDX-License-Identifier: Apache-2.0
"""A GPU that lacks NVLinks which its siblings have or NVML lists."""

from collections.abc import Iterator
from dataclasses import replace

from railgauge.topo.facts.pci_class import NVSWITCH
from railgauge.topo.findings.cards.nvlink import NVLINK_MISSING
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.findings.node.case import Case
from railgauge.topo.findings.node.effect import effect_of
from railgauge.topo.findings.node.peers import has_gpus
from railgauge.topo.findings.node.rule import Need, Rule, missing
from railgauge.topo.findings.topology_file import nvlink_missing, nvlink_one_sided
from railgauge.topo.findings.topology_file.nvlinks import gpus
from railgauge.topo.xml.tree import Tree, thaw

MOST_PREDICTED = 1  # a prediction searches channels twice


def _check(case: Case) -> Iterator[Finding]:
    found = [finding for finding in nvlink_missing.RULE.check(case.file) if not _is_sliced(case, finding.subject)]
    if _is_alike(case, found):
        why = f", as on all {len(found)} GPUs: by design of the board, or an NVSwitch is out"
        found = [replace(finding, level=Level.INFO, message=finding.message + why) for finding in found]
    for number, finding in enumerate(found):
        predict = number < MOST_PREDICTED and finding.level is not Level.INFO
        effect = _effect(case, finding) if predict else ""
        yield replace(finding, effect=effect or finding.effect)
    yield from _one_sided(case, {finding.subject for finding in found})
    if silent := missing(Need.NVML, case):
        yield RULE.unknown(case.host, silent)


def _one_sided(case: Case, told: set[str]) -> Iterator[Finding]:
    """Links that the GPU at one end lacks, unless something is told of either end."""
    for finding in nvlink_one_sided.RULE.check(case.file):
        ends, there, back = (finding.evidence[key] for key in ("ends", "there", "back"))
        if told.isdisjoint(ends) and not any(_is_sliced(case, end) for end in ends):
            yield replace(finding, id=RULE.id, subject=ends[there > back], remedy=RULE.card.remedy)


def _is_alike(case: Case, found: list[Finding]) -> bool:
    """Whether every GPU has as many links as the others, and some: boards leave links of a chip unused."""
    counts = {finding.evidence["count"] for finding in found if "listed" in finding.evidence}
    return len(found) == len(gpus(case.file)) > 1 and len(counts) == 1 and 0 not in counts


def _is_sliced(case: Case, bus_id: str) -> bool:
    """Whether a GPU is in MIG mode, which turns its NVLinks off: mig-enabled tells."""
    gpu = case.inventory.gpu(bus_id) if case.inventory else None
    return bool(gpu and gpu.mig)


def _effect(case: Case, finding: Finding) -> str:
    """What taking the links away does to the machine as it should be; "" where nobody knows which links those are."""
    gpu = next((gpu for gpu in case.system.gpus if gpu.bus_id == finding.subject), None)
    has, full = finding.evidence["count"], finding.evidence.get("usual", finding.evidence.get("listed"))
    root = thaw(case.machine.topology.root)
    bundle = next((link for link in root.walk() if link.name == "nvlink" and _card(link) == finding.subject), None)
    if gpu is None or bundle is None or not (bundle.get("tclass") or "").startswith(NVSWITCH):
        return ""
    bundle.put("count", str(bundle.integer("count", None) + full - has))
    whole = Case(replace(case.machine, topology=replace(case.machine.topology, root=root.freeze())))
    return effect_of(whole, sets=[f"GPU{gpu.dev}.nvlinks={has}"])


def _card(link: Tree) -> str | None:
    """The bus id of the GPU that a <nvlink> is of."""
    return next((above.get("busid") for above in link.above() if above.name == "pci"), None)


RULE = Rule(card=NVLINK_MISSING, needs=(), concerns=has_gpus, check=_check)
