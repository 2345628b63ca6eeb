# SPDX-License-Identifier: Apache-2.0
"""Which causes would make a machine as slow as it was measured."""

import math
from collections.abc import Mapping
from statistics import median
from typing import NamedTuple

from railgauge.topo.findings.cards.health import GPU_THROTTLED
from railgauge.topo.findings.cards.pcie import ACS_ENABLED
from railgauge.topo.findings.cards.rdma import VERBS_DEVICE_MISSING
from railgauge.topo.jobs.judge.curve import Sized, apart, large
from railgauge.topo.jobs.judge.forecasts import Forecasts
from railgauge.topo.jobs.judge.measured_run import NOTHING, MeasuredRun
from railgauge.topo.jobs.judge.possible_causes import STAGED, PossibleCause
from railgauge.topo.predict.staging import staged

FITS = 0.35
"""log2 of a ratio: a cause explains a curve to 27 %; forecasts of healthy machines are no nearer to all that is
published (benchmarks/predict)."""
LOOSELY = 0.6
"""The same where nothing fits as well: through host memory hosts differ that much (NCCL between two H200 of a VM
without P2P: 27 GB/s of the 39 forecast, benchmarks/gpu_vs_nccl)."""
BETTER = 0.6
"""Share of the healthy forecast's distance that a cause's may have."""
NEAR = 1.6
"""How many times the distance of the best another cause that is named may have."""
SELDOM = 0.05
"""By how much further a setting that hardly anybody makes has to be to come after another cause; what is seen to be
there comes before what is as much nearer."""
ALLOWS = 0.85
"""The share of the largest size's figure that a cause has to allow."""
MOST = 4
SOCKETS = PossibleCause(
    "TCP sockets instead of RDMA, which reach 1 to 12 GB/s",
    VERBS_DEVICE_MISSING.id,
    "NCCL_DEBUG=INFO, then railgauge log explain: via NET/Socket",
)
SOCKETS_REACH = 12.5
"""GB/s: a host's TCP over interfaces of 100 Gb/s; with NCCL_SOCKET_NTHREADS seldom more."""
SLOW_RANK = PossibleCause(
    "one slow rank, which all wait for: clocks, throttling, another job on its GPU",
    GPU_THROTTLED.id,
    "railgauge link; nvidia-smi -q -d PERFORMANCE",
    True,
)
TO_NICS = PossibleCause(
    "GPUs and NICs exchange through the CPU: ACS is on, or a VM hides the PCI tree",
    ACS_ENABLED.id,
    "railgauge check, on the host too",
)
HALF = 0.5
TELLING = 3
"""Sizes from which a curve tells settings that hardly anybody makes from hardware; a single figure fits any."""
CLOSELY = 0.1
"""log2 of a ratio (7 %): so near has a cause to come where the figure alone is not low, and a slow rank."""
FAR_CLOSER = 1 / 3
"""Share of the healthy forecast's distance that it may have there."""


class FittingCause(NamedTuple):
    """A cause whose forecast fits, and what it predicts by size in GB/s."""

    cause: PossibleCause
    apart: float
    gb_per_s: Mapping[int, float]


def fitting(
    curve: list[Sized], run: MeasuredRun, forecasts: Forecasts, in_force: Mapping[str, str] = NOTHING
) -> list[FittingCause]:
    """The causes whose forecast the curve follows, the nearest first. `in_force`: settings on the machine that the run
    may have had.
    """
    healthy = apart(curve, forecasts.healthy(run))
    causes = forecasts.of_causes(run, tuple(sorted(in_force.items())))
    last = curve[-1]
    found = [
        FittingCause(cause, apart(curve, by_size), by_size)
        for cause, by_size in causes
        if by_size[last.size] > ALLOWS * last.gb_per_s
    ]
    if len(large(curve)) < TELLING:
        found = [one for one in found if not one.cause.seldom]
    best = min((one.apart for one in found), default=0.0)
    most = min(FITS if best <= FITS else LOOSELY, BETTER * healthy, max(NEAR * best, best + 0.05))
    named = [one for one in found if one.apart <= most] + _slow_rank(curve, forecasts.healthy(run))
    named = sorted(named, key=_order)
    if staged(forecasts.plan(run)):
        named.insert(0, FittingCause(STAGED, math.inf, {}))
    return named[:MOST] or [FittingCause(one, math.inf, {}) for one in _where_nothing_fits(curve, run, forecasts)]


def _order(one: FittingCause) -> float:
    return one.apart + SELDOM * (one.cause.seldom - one.cause.seen)


def _slow_rank(curve: list[Sized], healthy: Mapping[int, float]) -> list[FittingCause]:
    """All ranks wait for the slowest, equally at all large sizes: the curve is the forecast times a share."""
    shares = [one.gb_per_s / healthy[one.size] for one in large(curve)]
    by_size = {size: median(shares) * by for size, by in healthy.items()}
    fits = len(shares) >= TELLING and apart(curve, by_size) <= CLOSELY
    return [FittingCause(SLOW_RANK, apart(curve, by_size), by_size)] if fits else []


def clearly_fitting(
    curve: list[Sized], run: MeasuredRun, forecasts: Forecasts, in_force: Mapping[str, str] = NOTHING
) -> list[FittingCause]:
    """Those of hardware and of settings in force that the curve follows so well that it is not a healthy one: one of
    eight NICs at half its lanes, or NVLS off, costs less than a quarter. A forecast that is too high at all sizes
    is no cause.
    """
    healthy = forecasts.healthy(run)
    if len(large(curve)) < TELLING or _slow_rank(curve, healthy):
        return []
    most = min(CLOSELY, FAR_CLOSER * apart(curve, healthy))
    found = fitting(curve, run, forecasts, in_force)
    return [one for one in found if one.apart <= most and not one.cause.seldom]


def _where_nothing_fits(curve: list[Sized], run: MeasuredRun, forecasts: Forecasts) -> list[PossibleCause]:
    """What no forecast is made of, by what it does to a curve."""
    if run.nodes > 1 and max(one.gb_per_s for one in curve) < SOCKETS_REACH:
        return [SOCKETS]
    half = curve[-1].gb_per_s < HALF * forecasts.healthy(run)[curve[-1].size]
    return [TO_NICS] if run.nodes > 1 and half else []
