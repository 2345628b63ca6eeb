# SPDX-License-Identifier: Apache-2.0
"""Where nvidia-smi's matrix and railgauge's differ, and why, as records.

A reason is what follows from the two letters and from what is known of the machine; it names what to look at.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.topo.facts.pasted.smi_matrix import SmiMatrix
from railgauge.topo.render.matrix import AFFINITIES, Matrix

OVER_PCI = ("PIX", "PXB", "PHB", "NODE")
WITHIN_SWITCH = ("PIX", "PXB")
OWN_NODE = "the GPU's memory is a NUMA node of its own (GPU NUMA ID), which nvidia-smi counts as another node"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmiDifference:
    """One kind of difference: where (GPU0-NIC1, ...), nvidia-smi's text, railgauge's, and why they differ."""

    where: tuple[str, ...]
    theirs: str
    ours: str
    why: str


def differences(theirs: SmiMatrix, ours: Matrix) -> tuple[SmiDifference, ...]:
    """All of them, those with the same letters and the same reason in one record."""
    own = {name: dict(zip(ours.rows[0][1:], row, strict=True)) for name, *row in ours.rows[1:]}
    names = _our_names(theirs, ours)
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for where, one, other, why in (*_missing(theirs, names, own), *_order(theirs, names), *_cells(theirs, names, own)):
        found.setdefault((one, other, why), {})[where] = None
    for where, one, other, why in _affinities(theirs, names, own):
        found.setdefault((one, other, why), {})[where] = None
    return tuple(
        SmiDifference(where=tuple(where), theirs=one, ours=other, why=why) for (one, other, why), where in found.items()
    )


Found = Iterator[tuple[str, str, str, str]]  # where, theirs, ours, why


def _our_names(theirs: SmiMatrix, ours: Matrix) -> dict[str, str]:
    """Our name of each of their columns: NICs by their device, if known, else by number."""
    by_device = {device: label for label, device in ours.nics}
    return {column: by_device.get(theirs.nics.get(column, column), _same(theirs, column)) for column in theirs.columns}


def _same(theirs: SmiMatrix, column: str) -> str:
    return "" if column in theirs.nics else column


def _missing(theirs: SmiMatrix, names: dict[str, str], own: dict[str, dict[str, str]]) -> Found:
    for column in theirs.columns:
        if names[column] not in own:
            device = theirs.nics.get(column, column)
            yield device, "present", "absent", "NCCL's view holds only GPUs and NICs that it would use: ports "
            "that are up"
    for name in own:
        if name.startswith("GPU") and name not in names.values():
            yield name, "absent", "present", "not visible to NVML: a container or CUDA_VISIBLE_DEVICES may hide GPUs"


def _order(theirs: SmiMatrix, names: dict[str, str]) -> Found:
    for column in theirs.columns:
        if names[column] and names[column] != column and column in theirs.nics:
            why = "NICs are numbered in another order; they are compared by device here"
            yield theirs.nics[column], column, names[column], why


def _cells(theirs: SmiMatrix, names: dict[str, str], own: dict[str, dict[str, str]]) -> Found:
    done = set()
    for (row, column), letter in theirs.cells.items():
        a, b = names[row], names[column]
        if a not in own or b not in own or (b, a, letter) in done:
            continue
        done.add((a, b, letter))
        if own[a][b] != letter:
            why = OWN_NODE if letter == "SYS" and _has_own_node(theirs, row) else _why(letter, own[a][b], own)
            yield f"{a}-{b}", letter, own[a][b], why


def _has_own_node(theirs: SmiMatrix, row: str) -> bool:
    """Whether the memory of that GPU is a NUMA node itself."""
    return theirs.affinities[row][2].isdecimal()


def _why(theirs: str, ours: str, own: dict[str, dict[str, str]]) -> str:
    """The reason that fits the two letters."""
    if theirs.startswith("NV") and ours.startswith("NV"):
        return "the number of NVLinks differs: some went down or came up between the two readings"
    if theirs.startswith("NV"):
        return "the topology has no NVLink between them: NVML did not answer when it was taken, or they were down"
    if ours.startswith("NV"):
        return "nvidia-smi sees no NVLink between them: they are down, or the fabric manager has not trained them"
    if {theirs, ours} == {"NODE", "PHB"}:
        if any("NODE" in row.values() for row in own.values()):
            return "they disagree whether both are below one host bridge: the two readings are of different machines"
        return "a topology XML holds no host bridges, so NODE reads PHB; a live machine or a capture distinguishes them"
    if theirs in WITHIN_SWITCH and ours in WITHIN_SWITCH:
        return "they count the levels of a PCIe switch differently: NCCL takes each chip's ports as one switch"
    if "SYS" in (theirs, ours):
        return "they put the two on different NUMA nodes: firmware gave none, or a VM's tree is not the host's"
    if theirs in OVER_PCI and ours in OVER_PCI:
        return "one of them sees a PCIe switch above both and the other does not: a VM or an edited file hides it"
    return "the two tools see different links between them"


def _affinities(theirs: SmiMatrix, names: dict[str, str], own: dict[str, dict[str, str]]) -> Found:
    reasons = (
        "cores of the NUMA node in the topology; NVML reports the online cores nearest to the GPU",
        "NVML reports all nodes whose memory is nearest; the topology has one node for each device",
        "the node of the GPU's own memory: only NVML knows",
    )
    for row, texts in theirs.affinities.items():
        for what, text, why in zip(AFFINITIES, texts, reasons, strict=True):
            mine = own.get(names[row], {}).get(what, "")
            if text and names[row] in own and text != mine:
                yield f"{names[row]} {what}", text, mine or "none", why
