# SPDX-License-Identifier: Apache-2.0
"""The effect of a change of the machine on a prediction, in one line and size by size."""

from dataclasses import dataclass

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.nccl.graph.ends import text_names
from railgauge.topo.nccl.settings.algorithm import Algorithm
from railgauge.topo.predict.forecast import Forecast, ForecastRow

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
FASTER = 1.01  # times the bus bandwidth before, which does not depend on the number of ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastComparison:
    """The same sizes before and after `edits` (as given on the command line)."""

    edits: tuple[str, ...]
    before: Forecast
    after: Forecast

    @property
    def change(self) -> float:
        """The gain of bus bandwidth at the largest size, as a share; negative if slower."""
        return self.after.rows[-1].busbw_gb_per_s / self.before.rows[-1].busbw_gb_per_s - 1

    @property
    def statement(self) -> str:
        """The largest size: bus bandwidth before and after, the bottleneck now, channels x GB/s each (if any)."""
        old, new = self.before.rows[-1], self.after.rows[-1]
        direct = new.algorithm is Algorithm.DIRECT
        parts = [
            f"{old.busbw_gb_per_s:.3g} -> {new.busbw_gb_per_s:.3g} GB/s busbw ({self.change * 100:+.0f} %)",
            f"bottleneck {new.limit.name}",
            *(
                []
                if direct
                else [f"channels {channels_text(self.before, old)} -> {channels_text(self.after, new)} GB/s"]
            ),
            *self._chosen(),
            *self._left_out(),
        ]
        return f"{self.after.plan.nodes}-node {self.after.collective} {size_text(new.size)}: {'; '.join(parts)}"

    def _chosen(self) -> list[str]:
        """The new algorithm; or why a degraded machine is predicted to be faster."""
        old, new = self.before.rows[-1], self.after.rows[-1]
        if old.algorithm is not new.algorithm:
            return [f"NCCL now chooses {new.algorithm} instead of {old.algorithm}"]
        other = new.algorithm is not Algorithm.DIRECT and new.busbw_gb_per_s > FASTER * old.busbw_gb_per_s
        return ["the search now finds other channels"] if other else []

    def _left_out(self) -> list[str]:
        """NICs without a channel now that had one before; exchanges in pairs use other paths."""
        if self.after.collective.in_pairs:
            return []
        gone = sorted(_nics(self.before) - _nics(self.after))
        system = self.before.plan.system
        named = {dev_number(net): text_names(system)[net.id] for net in system.nets}
        return [f"{', '.join(named[dev] for dev in gone)} unused now"] if gone else []


def channels_text(forecast: Forecast, row: ForecastRow) -> str:
    """The channels of a row's algorithm, as 8 x 48."""
    graph = forecast.plan.graph(row.algorithm)
    count = len(graph.channels)
    return f"{count} x {graph.total(forecast.plan.parts) / count:g}"


def size_text(size: int) -> str:
    """A size in the largest unit that divides it."""
    return next((f"{size // unit} {name}" for unit, name in UNITS if size and size % unit == 0), f"{size} B")


def _nics(forecast: Forecast) -> set[int]:
    return {net for channel in forecast.plan.graphs.ring.channels for net in channel.nets}
