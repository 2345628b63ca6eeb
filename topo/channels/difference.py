# SPDX-License-Identifier: Apache-2.0
"""One sentence: why the best channels are not NCCL's, and why its search does not find them."""

from railgauge import _native
from railgauge.topo.channels.graph import Graph
from railgauge.topo.channels.wiring import Wiring

GAVE_UP = 0.1  # GB/s: NCCL's answer where it found nothing at any of its speeds (`ncclTopoCompute`)
EQUAL = 1e-3


def difference(wiring: Wiring, nccl: Graph, best: Graph, load: float) -> str:
    """One sentence. `load`: the highest load of a link by NCCL's channels, as a share of its capacity."""
    theirs, ours = _speed(nccl), _speed(best)
    return (
        f"NCCL uses {len(nccl.channels)} x {theirs:g} GB/s: {_reason(wiring, nccl, best, load)}; {_found(best, ours)}"
    )


def _reason(wiring: Wiring, nccl: Graph, best: Graph, load: float) -> str:
    speed, count = _speed(nccl), len(nccl.channels)
    if speed <= GAVE_UP * (1 + EQUAL):
        return "it found no channels at any speed of its table and gave up"
    if load > 1 + EQUAL:
        return f"these load a link to {load:.3g} times its bandwidth"
    if count != len(best.channels) and count * speed >= len(best.channels) * _speed(best) * (1 - EQUAL):
        return "ring and tree use the same number of channels, and this one carries the most"
    if count * speed / load >= len(best.channels) * _speed(best) * (1 - EQUAL):
        return f"the same channels carry {speed / load:.4g} each, but its table of speeds has {_next(wiring, speed)}"
    if best.cross_nic and not nccl.cross_nic:
        return "each leaves by the NIC it enters by"
    if wiring.native.switched:
        return "with an NVSwitch it tries neighbouring GPU numbers only, at the speeds of its table"
    if nccl.same_channels and not best.same_channels and count > 1:
        return "it repeats one order of the GPUs"
    return f"it adds channels one by one at a speed of its table ({_next(wiring, speed)})"


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
