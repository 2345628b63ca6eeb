# SPDX-License-Identifier: Apache-2.0
"""The NVLinks that a GPU lacks in a mesh, put back where the other GPUs tell where they lead."""

from collections.abc import Mapping

from railgauge.topo.values.busid import to_number
from railgauge.topo.xml.tree import ElementBuilder


def put_back(gpu: ElementBuilder, wanted: int) -> bool:
    """Give a GPU as many NVLinks to others as wanted; whether that was possible.

    Those that others have to it are missing at its end alone. Else the GPUs that have fewer than wanted lack theirs to
    it, at both ends, where they lack as many as it does together.
    """
    others = [one for one in [gpu, *gpu.above()][-1].walk() if one.name == "gpu" and one is not gpu]
    own = _count(gpu)
    here = {_bus(other): _count(gpu, other) for other in others}
    back = {_bus(other): max(0, _count(other, gpu) - here[_bus(other)]) for other in others}
    if own + sum(back.values()) == wanted:
        _add(gpu, others, back)
        return True
    short = {_bus(other): max(0, wanted - _count(other)) for other in others}
    if own + sum(short.values()) != wanted:
        return False
    _add(gpu, others, short)
    for other in others:
        _add(other, [gpu], {_bus(gpu): here[_bus(other)] + short[_bus(other)] - _count(other, gpu)})
    return True


def _add(gpu: ElementBuilder, others: list[ElementBuilder], missing: Mapping[int, int]) -> None:
    """More links from a GPU to others, as other links of the mesh are."""
    for other in others:
        if (count := missing[_bus(other)]) <= 0:
            continue
        like = next(link for one in (gpu, other, *others) for link in one.all("nvlink"))
        link = next((one for one in gpu.all("nvlink") if _target(one) == _bus(other)), None)
        if link is None:
            link = gpu.append(ElementBuilder("nvlink", like.attributes.items()))
            link.put("target", (other.parent.get("busid") if other.parent else None) or "")
            link.put("count", "0")
        link.put("count", str(link.integer("count", None) + count))


def _count(gpu: ElementBuilder, other: ElementBuilder | None = None) -> int:
    """The NVLinks of a GPU, to another or all."""
    links = gpu.all("nvlink")
    return sum(link.integer("count", None) for link in links if other is None or _target(link) == _bus(other))


def _bus(gpu: ElementBuilder) -> int:
    return to_number((gpu.parent.get("busid") if gpu.parent else None) or "0")


def _target(link: ElementBuilder) -> int:
    return to_number(link.get("target") or "0")
