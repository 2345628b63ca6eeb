# SPDX-License-Identifier: Apache-2.0
"""Why the best channels are not NCCL's, in a sentence: what of NCCL's search kept it from them."""

from railgauge import _native
from railgauge.topo.channels.graph import Graph
from railgauge.topo.channels.wiring import Wiring

GAVE_UP = 0.1  # GB/s: NCCL's answer where it found nothing at any of its speeds (`ncclTopoCompute`)
EQUAL = 1e-3


def difference(wiring: Wiring, nccl: Graph, best: Graph, load: float) -> str:
    """One sentence. `load`: the greatest share of its capacity that a link carries of NCCL's channels."""
    theirs, ours = _speed(nccl), _speed(best)
    return (
        f"NCCL uses {len(nccl.channels)} x {theirs:g} GB/s: {_reason(wiring, nccl, best, load)}; {_found(best, ours)}"
    )


def _reason(wiring: Wiring, nccl: Graph, best: Graph, load: float) -> str:
    speed, count = _speed(nccl), len(nccl.channels)
    if speed <= GAVE_UP * (1 + EQUAL):
        return "it found no channels at any speed of its table and gave up"
    if load > 1 + EQUAL:
        return f"these load a link with {load:.3g} times what it has"
    if count != len(best.channels) and count * speed >= len(best.channels) * _speed(best) * (1 - EQUAL):
        return "ring and tree run on one number of channels, and this is the one at which they carry most"
    if count * speed / load >= len(best.channels) * _speed(best) * (1 - EQUAL):
        return f"the same channels carry {speed / load:.4g} each, but its table of speeds has {_next(wiring, speed)}"
    if best.cross_nic and not nccl.cross_nic:
        return "it lets each leave by the NIC it came in by"
    if wiring.native.switched:
        return "with an NVSwitch it tries each GPU's neighbours by number alone, at the speeds of its table"
    if nccl.same_channels and not best.same_channels and count > 1:
        return "it repeats one order of the GPUs"
    return f"it takes channels one after the other at a speed of its table ({_next(wiring, speed)})"


def _found(best: Graph, speed: float) -> str:
    orders = len({channel.ranks for channel in best.channels})
    different = f" in {orders} orders of the GPUs" if orders > 1 else ""
    return f"{len(best.channels)} x {speed:g} fit{different}"


def _next(wiring: Wiring, speed: float) -> str:
    """The speeds of NCCL's table around one."""
    table = _native.topo.nccl_speeds(wiring.native, wiring.leaves)
    above = [step for step in table if step > speed * (1 + EQUAL)]
    return f"nothing between {speed:g} and {above[-1]:g}" if above else f"nothing above {speed:g}"


def _speed(graph: Graph) -> float:
    return min(graph.gb_per_s_intra, graph.gb_per_s_inter)
