# SPDX-License-Identifier: Apache-2.0
"""What a change of the machine does to a prediction, in one line and size by size."""

from dataclasses import dataclass

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.nccl.graph.ends import names_of
from railgauge.topo.nccl.settings.algorithm import Algorithm
from railgauge.topo.predict.forecast import Forecast, Row

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
FASTER = 1.01  # of the bus bandwidth before, which does not depend on the number of ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The same sizes before and after `edits` (as given on the command line)."""

    edits: tuple[str, ...]
    before: Forecast
    after: Forecast

    @property
    def change(self) -> float:
        """What the bus bandwidth of the largest size gains, as a share; less than 0: it is slower."""
        return self.after.rows[-1].busbw_gb_per_s / self.before.rows[-1].busbw_gb_per_s - 1

    @property
    def statement(self) -> str:
        """The largest size: channels x GB/s before and after (where they count), what limits now, the bus bandwidth."""
        old, new = self.before.rows[-1], self.after.rows[-1]
        direct = new.algorithm is Algorithm.DIRECT
        figures = [] if direct else [f"{channels_text(self.before, old)} -> {channels_text(self.after, new)}"]
        bandwidth = f"busbw {old.busbw_gb_per_s:.3g} -> {new.busbw_gb_per_s:.3g} GB/s ({self.change:+.0%})"
        parts = [*figures, new.limit.device or new.limit.by, bandwidth, *self._chosen(), *self._left_out()]
        return f"{self.after.collective} {size_text(new.size)}: {', '.join(parts)}"

    def _chosen(self) -> list[str]:
        """Another algorithm; or why a change for the worse makes it faster all the same."""
        old, new = self.before.rows[-1], self.after.rows[-1]
        if old.algorithm is not new.algorithm:
            return [f"NCCL now chooses {new.algorithm}, before {old.algorithm}"]
        other = new.algorithm is not Algorithm.DIRECT and new.busbw_gb_per_s > FASTER * old.busbw_gb_per_s
        return ["the search now finds other channels"] if other else []

    def _left_out(self) -> list[str]:
        """NICs that had channels and have none now; exchanges in pairs go by other ways."""
        if self.after.collective.in_pairs:
            return []
        gone = sorted(_nics(self.before) - _nics(self.after))
        named = {dev_number(net): names_of(net)[0] for net in self.before.plan.system.nets}
        return [f"{', '.join(named[dev] for dev in gone)} left out"] if gone else []


def channels_text(forecast: Forecast, row: Row) -> str:
    """The channels of a row's algorithm, as 8 x 48."""
    graph = forecast.plan.graph(row.algorithm)
    count = len(graph.channels)
    return f"{count} x {graph.total(forecast.plan.parts) / count:g}"


def size_text(size: int) -> str:
    """A size with the largest unit that leaves it whole."""
    return next((f"{size // unit} {name}" for unit, name in UNITS if size and size % unit == 0), f"{size} B")


def _nics(forecast: Forecast) -> set[int]:
    return {net for channel in forecast.plan.graphs.ring.channels for net in channel.nets}
