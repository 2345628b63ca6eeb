# SPDX-License-Identifier: Apache-2.0
"""The effect of a change of the machine on a prediction, in one line and size by size."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

from railgauge.topo.channels.dev_number import dev_number
from railgauge.topo.nccl.graph.capacity import contains
from railgauge.topo.nccl.graph.ends import text_names
from railgauge.topo.nccl.settings.algorithm import Algorithm
from railgauge.topo.predict.forecast import Forecast, ForecastRow
from railgauge.topo.predict.plan import NodePlan

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


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
    def is_small(self) -> bool:
        """Whether the change rounds to 0 %."""
        return round(self.change * 100) == 0

    @property
    def statement(self) -> str:
        """The largest size: bus bandwidth before and after, the bottleneck now, channels x GB/s each (if any)."""
        old, new = self.before.rows[-1], self.after.rows[-1]
        on_channels = {old.algorithm, new.algorithm} <= {Algorithm.RING, Algorithm.TREE}
        parts = [
            self.bandwidths,
            f"bottleneck {new.limit.name}",
            *(
                [f"channels {channels_text(self.before, old)} -> {channels_text(self.after, new)} GB/s"]
                if on_channels
                else []
            ),
            *self._chosen(),
            *self._left_out(),
        ]
        return f"{self.after.plan.machines}-node {self.after.collective} {size_text(new.size)}: {'; '.join(parts)}"

    @property
    def bandwidths(self) -> str:
        """Bus bandwidth before and after at the largest size, and the change."""
        old, new = self.before.rows[-1].busbw_gb_per_s, self.after.rows[-1].busbw_gb_per_s
        return f"{old:.3g} -> {new:.3g} GB/s busbw ({_percent(self.change)})"

    def _chosen(self) -> list[str]:
        """The new algorithm."""
        old, new = self.before.rows[-1].algorithm, self.after.rows[-1].algorithm
        return [] if old is new else [f"NCCL now chooses {new} instead of {old}"]

    def _left_out(self) -> list[str]:
        """NICs without a channel now that had one before; exchanges in pairs use other paths."""
        if self.after.collective.in_pairs:
            return []
        after = _nics(self.after)
        gone = [name for name in _nics(self.before) if name not in after]
        return [f"{', '.join(gone)} unused now"] if gone else []


def _percent(change: float) -> str:
    """A share as a signed number of per cent; never 0, which has no sign."""
    if round(change * 100):
        return f"{change * 100:+.0f} %"
    return "under 1 %" if change else "no change"


def no_slower(one: Forecast, than: Forecast) -> Forecast:
    """A forecast of a machine that can do all that another can: where NCCL's choice makes it slower, as fast."""
    return _chosen_rows(one, than, min)


def no_faster(one: Forecast, than: Forecast) -> Forecast:
    """A forecast of a machine that can do nothing more than another: where NCCL's choice makes it faster, as fast."""
    return _chosen_rows(one, than, max)


def sound(before: Forecast, after: Forecast, edits: tuple[str, ...]) -> ForecastComparison:
    """The comparison of a machine and of what edits make of it: who can do more is not the slower one."""
    old, new = before.plan, after.plan
    less, more = _contains(old, new), _contains(new, old)
    if less and not more:
        after = no_faster(after, before)
    elif more:
        after = no_slower(after, before)
    return ForecastComparison(edits=edits, before=before, after=after)


def _contains(more: NodePlan, less: NodePlan) -> bool:
    """Whether a plan's machine can do all that another's can, with P2P between the same GPUs."""
    return contains(more.system, less.system) and all(
        more.table.peer_access(a.id, b.id).allowed or not less.table.peer_access(a.id, b.id).allowed
        for a, b in combinations(less.system.gpus, 2)
    )


def _chosen_rows(one: Forecast, other: Forecast, choose: Callable[..., ForecastRow]) -> Forecast:
    pairs = zip(one.rows, other.rows, strict=True)
    return replace(one, rows=tuple(choose(pair, key=lambda row: row.time_us) for pair in pairs))


def channels_text(forecast: Forecast, row: ForecastRow) -> str:
    """The channels of a row's algorithm and what each runs at, as 8 x 48."""
    graph = forecast.plan.graph(row.algorithm)
    count = len(graph.channels)
    return f"{count} x {graph.real_total(forecast.plan.parts) / count:.4g}"


def size_text(size: int) -> str:
    """A size in the largest unit that divides it."""
    return next((f"{size // unit} {name}" for unit, name in UNITS if size and size % unit == 0), f"{size} B")


def _nics(forecast: Forecast) -> list[str]:
    """The NICs with a channel by name, as NCCL numbers them."""
    plan = forecast.plan
    names = text_names(plan.system)
    used = {net for channel in plan.graphs.ring.channels for net in channel.nets}
    return [names[net.id] for net in plan.system.nets if dev_number(net) in used]
