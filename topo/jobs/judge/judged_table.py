# SPDX-License-Identifier: Apache-2.0
"""A judged table: what was reached, what its machine was forecast to reach, and the findings."""

from dataclasses import dataclass

from railgauge.topo.findings.finding import Finding
from railgauge.topo.jobs.judge.causes import FittingCause
from railgauge.topo.jobs.judge.curve import Sized, reached
from railgauge.topo.jobs.judge.shape import subject
from railgauge.topo.jobs.tables.table import MeasuredTable


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTable:
    """Bandwidths in GB/s of bus bandwidth, by size in bytes. `forecast` and `bound` are None without a machine.

    reached: the figure of the largest sizes. departs: sizes that are below the forecast by more than a quarter.
    remarks: on the forecast.
    """

    table: MeasuredTable
    curve: tuple[Sized, ...]
    reached: float | None
    forecast: dict[int, float] | None
    bound: float | None
    causes: tuple[FittingCause, ...]
    departs: tuple[int, ...]
    why_no_forecast: str
    remarks: tuple[str, ...] = ()
    findings: tuple[Finding, ...]

    @property
    def statement(self) -> str:
        """What was reached beside the forecast, in one phrase."""
        what = f"{self.table.program} {subject(self.table)}"
        if self.reached is None:
            return f"{what}: no bus bandwidth"
        beside = f"; forecast {forecast:.4g}" if (forecast := self.forecast_reached) else ""
        average = self.table.average_busbw_gb_per_s
        mean = "" if average is None else f" ({average:g} on average)"
        return f"{what}: reached {self.reached:.4g} GB/s{mean}{beside}"

    @property
    def forecast_reached(self) -> float | None:
        """The forecast of the largest sizes."""
        if not self.forecast or not self.curve:
            return None
        return reached([Sized(one.size, self.forecast[one.size]) for one in self.curve])
