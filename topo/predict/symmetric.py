# SPDX-License-Identifier: Apache-2.0
"""NCCL's kernels for symmetric windows (ncclCommWindowRegister, NCCL_WIN_COLL_SYMMETRIC; -R 2 of nccl-tests).

Every rank reads and writes the arrays of the others itself: with flags within the data (LL), by loads and stores, or by
the switches' multicast. NCCL chooses by its own figures (`ncclSymkPickKernel`, `queryModel` of src/sym_kernels.cc,
v2.28.3-1 on; 2.27 has tables of samples instead, whose choice is taken to be the same). The time follows from the
links, as for other algorithms.

Over several nodes NCCL does as without windows: up to 2.28 it has no kernel there (`kernelMask_LSA`), of all_reduce
none up to 2.30.7 (`kernelMask_Gin`). From 2.29.2 on it has one for all_gather, from 2.29.7 on for reduce_scatter,
where the network's plugin lets GPUs send by themselves (GIN), which a machine does not tell: not modelled.
"""

from collections.abc import Iterator
from itertools import permutations
from math import exp, expm1, log1p
from typing import NamedTuple

from railgauge.topo.channels.load import Step
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol
from railgauge.topo.predict import calibration, nvls
from railgauge.topo.predict.cost import Cost
from railgauge.topo.predict.load import Fullest, of_steps
from railgauge.topo.predict.nccl_constants import generation_of
from railgauge.topo.predict.nccl_cost import launch_us
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.release import Release

ZERO_COPY, NVLS = Algorithm.ZERO_COPY, Algorithm.NVLS
LL, SIMPLE = Protocol.LL, Protocol.SIMPLE
FIRST: Release = (2, 27, 3)
OVER_NETWORK: dict[Collective, Release] = {
    Collective.ALL_GATHER: (2, 29, 2),
    Collective.REDUCE_SCATTER: (2, 29, 7),
}
REDUCED = ("float", "half", "bfloat16", "f8e4m3", "f8e5m2")
MOST_BLOCKS = 64
MULTICAST_BLOCKS = (16, 32)  # of all ranks together: up to Hopper, from Blackwell on
LEAST_MULTICAST = 3
LL_TIMES = 9  # what NCCL counts of LL for a byte
LL_SENT = {Collective.ALL_REDUCE: 9}  # for the time: with the reduction of all whole arrays
LL_SENT_ELSE = 2  # data and flags
LL_BELOW = 2 << 30  # bytes
GB_PER_S = (1 << 30) / 1e6  # NCCL's unit, in bytes per us
A_BLOCK = 0.025  # by how much more time each thread block counts
ENOUGH = 1.025  # times the time of all blocks that fewer may take
# Up to Hopper, from Blackwell on.
LL_US = {Collective.ALL_GATHER: (4.5, 8.5)}
LL_ELSE_US = (4.5, 11.0)
SIMPLE_US = {Collective.ALL_REDUCE: (7.8, 19.5)}
SIMPLE_ELSE_US = (7.8, 13.0)
BLOCK_GB_PER_S = {Collective.ALL_REDUCE: (65.0, 55.0)}
BLOCK_ELSE_GB_PER_S = (44.0, 55.0)
LINK_GB_PER_S = (320.0, 600.0)
REDUCING_SWITCH_GB_PER_S = (480.0, 1000.0)


class Kernel(NamedTuple):
    """An algorithm and protocol, NCCL's time for it, and its thread blocks."""

    algorithm: Algorithm
    protocol: Protocol
    time_us: float
    blocks: int


def may_run(plan: NodePlan, collective: Collective) -> bool:
    """Whether NCCL has a kernel: NVLinks between all GPUs of one node, and a sum of floats up to 32 bits, if a sum."""
    if not plan.symmetric or plan.on_host or plan.nodes > 1 or plan.release < FIRST:
        return False
    if not plan.linked:
        return False
    reducing = collective in (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER)
    reduced = reducing and plan.redop == "sum" and plan.datatype in REDUCED
    return collective is Collective.ALL_GATHER or reduced


def without_kernel(plan: NodePlan, collective: Collective) -> str:
    """Why windows change nothing in the forecast; "" where they do, or where there are none."""
    if not plan.symmetric or plan.on_host or may_run(plan, collective):
        return ""
    if plan.release < FIRST:
        return "NCCL before 2.27 has no kernel for symmetric windows; figures are those without"
    if plan.nodes == 1:
        return f"NCCL has no kernel of symmetric windows for this {collective} here; figures are those without"
    first = OVER_NETWORK.get(collective)
    if first is None or plan.release < first:
        return f"over several nodes NCCL runs {collective} in symmetric windows as without them"
    return (
        f"over several nodes NCCL may run {collective} in symmetric windows by kernels that send themselves (GIN, if "
        "the network's plugin can), which are not modelled; figures are those without windows"
    )


def chosen(plan: NodePlan, collective: Collective, size: int) -> Kernel:
    """NCCL's choice for a size in bytes: the least time, where a block counts as 2.5 % more."""
    return min(_kernels(plan, collective, size), key=lambda one: one.time_us * (1 + A_BLOCK * one.blocks))


def _kernels(plan: NodePlan, collective: Collective, size: int) -> Iterator[Kernel]:
    """Each kernel with the fewest blocks that are nearly as fast as all."""
    new, ranks = plan.sms[0] >= 100, plan.ranks
    share = size if collective is Collective.ALL_REDUCE else size / ranks
    all_reduce = collective is Collective.ALL_REDUCE
    block = BLOCK_GB_PER_S.get(collective, BLOCK_ELSE_GB_PER_S)[new] * GB_PER_S
    peak = LINK_GB_PER_S[new] * GB_PER_S
    ll, simple = LL_US.get(collective, LL_ELSE_US)[new], SIMPLE_US.get(collective, SIMPLE_ELSE_US)[new]
    others = share * (ranks - 1) * (2 / ranks if all_reduce else 1)
    if size < LL_BELOW:
        yield _least(ZERO_COPY, LL, (ranks * share * LL_TIMES, ll, block, peak), MOST_BLOCKS)
    yield _least(ZERO_COPY, SIMPLE, (others, simple, block, peak), MOST_BLOCKS)
    if ranks >= LEAST_MULTICAST and nvls.may_run(plan, collective, NVLS):
        most = -(-MULTICAST_BLOCKS[new] // ranks)
        if all_reduce:
            peak = REDUCING_SWITCH_GB_PER_S[new] * GB_PER_S
            figures = share / ranks + share, simple, block * ranks, peak
        else:
            figures = others, simple, block * 0.55 * ranks, peak
        yield _least(NVLS, SIMPLE, figures, most)


def _least(algorithm: Algorithm, protocol: Protocol, figures: tuple[float, float, float, float], most: int) -> Kernel:
    best = _nccl_us(figures, most)
    blocks = next(count for count in range(1, most + 1) if count == most or _nccl_us(figures, count) <= ENOUGH * best)
    return Kernel(algorithm, protocol, _nccl_us(figures, blocks), blocks)


def _nccl_us(figures: tuple[float, float, float, float], blocks: int) -> float:
    """NCCL's figure of the time from bytes, base time, what a block passes and what all do: both limits are smooth."""
    count, base, block, peak = figures
    passed = peak - block * log1p(expm1(peak / block) * exp(-blocks))
    over = count / passed - 1
    return base + (over if over >= 100 else log1p(exp(over)))


def cost(plan: NodePlan, collective: Collective, size: int, kernel: Kernel) -> Cost:
    """The time of `size` bytes with a kernel: NCCL's base time, calibrated, and what the links pass."""
    row, new = generation_of(plan.sms[0]), plan.sms[0] >= 100
    if kernel.protocol is LL:
        base = LL_US.get(collective, LL_ELSE_US)[new] * calibration.STEP_SCALE[LL][row]
    else:
        scale = calibration.SYMMETRIC_SCALE[collective is Collective.ALL_REDUCE]
        base = SIMPLE_US.get(collective, SIMPLE_ELSE_US)[new] * scale
    if kernel.algorithm is NVLS:
        passed = nvls.gb_per_s_within(plan, nvls.existing(plan), collective)
    else:
        passed = fullest(plan, collective).gb_per_s * calibration.SYMMETRIC_EFFICIENCY
        if kernel.protocol is LL:
            passed /= ll_sent(collective)
    return Cost(latency_us=base + launch_us(plan), transfer_us=size / (1e3 * passed))


def ll_sent(collective: Collective) -> int:
    """How many times its data a rank sends with LL."""
    return LL_SENT.get(collective, LL_SENT_ELSE)


def fullest(plan: NodePlan, collective: Collective) -> Fullest:
    """The fullest links if the algorithm bandwidth is 1 GB/s and each rank exchanges an equal part with each other."""
    each = collective.factor(plan.ranks) / (plan.ranks - 1)
    return of_steps(plan, (Step(source=a, target=b, gb_per_s=each) for a, b in permutations(plan.system.ranks, 2)))
