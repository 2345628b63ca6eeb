# SPDX-License-Identifier: Apache-2.0
"""Nodes of one design, which should be equal; nodes of different designs are not compared.

Two nodes have the same design if both have GPUs or neither has, and they share more than two thirds of their parts:
GPUs by model, NICs, NVSwitches, NUMA nodes and the processor. So a node that lacks a card, or has another NIC,
deviates from its design, and one with half as many GPUs and NICs has another design.
"""

from collections import Counter
from collections.abc import Iterable

from railgauge.topo.compare.attributes import Attributes
from railgauge.topo.findings.cluster.alike import Alike
from railgauge.topo.findings.cluster.node import Sheet

Parts = Counter[tuple[str, str]]
COUNTED = ("NIC", "NVSwitch", "NUMA node")
GPU = "GPU"


def designs(classes: Iterable[Alike]) -> list[list[Alike]]:
    """The classes by design, the most frequent one first, which is the reference of the others."""
    found: list[tuple[Parts, list[Alike]]] = []
    for one in classes:
        parts = _parts(one.sheet)
        for leader, members in found:
            if _is_same(leader, parts):
                members.append(one)
                break
        else:
            found.append((parts, [one]))
    return [members for _, members in found]


def _parts(sheet: Sheet) -> Parts:
    parts: Parts = Counter()
    for item in sheet:
        if item.kind == GPU:
            parts[GPU, item.facts.get("device id") or item.facts.get("sm") or ""] += 1
        elif item.kind in COUNTED:
            parts[item.kind, ""] += 1
        elif item.kind == "host":
            parts["CPU", item.facts.get("CPU") or ""] += 1
    return parts


def _is_same(one: Parts, other: Parts) -> bool:
    gpus = [any(kind == GPU for kind, _ in parts) for parts in (one, other)]
    return gpus[0] == gpus[1] and 3 * (one & other).total() > 2 * (one | other).total()


def description(items: Iterable[Attributes]) -> str:
    """A design as text: "8 x NVIDIA H100 80GB HBM3, 12 NICs, 2 NUMA nodes, DGXH100"."""
    items = list(items)
    gpus = Counter(_model(item) for item in items if item.kind == GPU)
    counts = Counter(item.kind for item in items)
    words = [f"{count} x {model}" for model, count in gpus.items()] or ["no GPU"]
    words += [
        f"{counts[kind]} {kind}{'s' if counts[kind] > 1 else ''}" for kind in ("NIC", "NUMA node") if counts[kind]
    ]
    words += [product for item in items if item.kind == "host" if (product := item.facts.get("product"))]
    return ", ".join(words)


def _model(gpu: Attributes) -> str:
    sm = gpu.facts.get("sm")
    return gpu.facts.get("model") or (f"GPU of sm {sm}" if sm else "GPU")
