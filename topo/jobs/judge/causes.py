# SPDX-License-Identifier: Apache-2.0
"""Which causes would make a machine as slow as it was measured."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from railgauge.topo.findings.cards.rdma import VERBS_DEVICE_MISSING
from railgauge.topo.jobs.judge.curve import Sized, apart, reached
from railgauge.topo.jobs.judge.forecasts import Forecasts
from railgauge.topo.jobs.judge.measured_run import NOTHING, MeasuredRun
from railgauge.topo.jobs.judge.possible_causes import PossibleCause

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
"""By how much further a setting that hardly anybody makes has to be to come after another cause."""
MOST = 4
SOCKETS = PossibleCause(
    "TCP sockets instead of RDMA, which reach 1 to 12 GB/s",
    VERBS_DEVICE_MISSING.id,
    "NCCL_DEBUG=INFO, then railgauge log explain: via NET/Socket",
)
SOCKETS_REACH = 12.5
"""GB/s: a host's TCP over interfaces of 100 Gb/s; with NCCL_SOCKET_NTHREADS seldom more."""


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
    found = [FittingCause(cause, apart(curve, by_size), by_size) for cause, by_size in causes]
    found.sort(key=lambda one: one.apart + SELDOM * one.cause.seldom)
    best = min((one.apart for one in found), default=0.0)
    most = min(FITS if best <= FITS else LOOSELY, BETTER * healthy, max(NEAR * best, best + 0.05))
    named = [one for one in found if one.apart <= most][:MOST]
    if not named and run.nodes > 1 and reached(curve) < SOCKETS_REACH:
        return [FittingCause(SOCKETS, math.inf, {})]
    return named
