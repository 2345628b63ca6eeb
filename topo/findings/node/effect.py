# SPDX-License-Identifier: Apache-2.0
"""What a fault costs, by the cost model of `graph predict`: an all-reduce of 1 GiB with and without it.

The search and the model are loaded for a finding alone: a healthy machine is examined without them.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from railgauge.topo.errors import Error
from railgauge.topo.machine import Machine

if TYPE_CHECKING:
    from railgauge.topo.predict.comparison import ForecastComparison
    from railgauge.topo.predict.forecast import Forecast
    from railgauge.topo.predict.plan import NodePlan

SIZE = 1 << 30


def effect_of(machine: Machine, *, sets: Iterable[str] = (), drops: Iterable[str] = (), nodes: int = 1) -> str:
    """The predicted effect of edits (what_if.py) that bring the plan to the machine's real state; "" without a
    prediction, such as for a single GPU.
    """
    found = _edited(machine, tuple(sets), tuple(drops), nodes)
    return found.statement if found else ""


def _edited(machine: Machine, sets: tuple[str, ...], drops: tuple[str, ...], nodes: int) -> "ForecastComparison | None":
    try:
        after = with_edits(machine, sets, drops)
    except Error:
        return None
    return compared(machine, after, (*sets, *drops), nodes=nodes)


def with_edits(machine: Machine, sets: Iterable[str] = (), drops: Iterable[str] = ()) -> Machine:
    """The machine after edits, under the same settings; Error if an edit is not possible."""
    from railgauge.topo.compare.what_if import edited

    return replace(machine, topology=edited(machine.topology, sets, drops))


def once_fixed(machine: Machine, sets: Iterable[str], *, nodes: int = 2) -> str:
    """The predicted gain from edits that fix a fault, for several such nodes; "" without a prediction or if it gets
    worse, since NCCL's search may find other channels: that is not an effect of the fault.
    """
    found = _edited(machine, tuple(sets), (), nodes)
    return f"once fixed, {nodes} such nodes: {found.statement}" if found and found.change >= 0 else ""


def compared(
    before: Machine, after: Machine, edits: tuple[str, ...] = (), *, nodes: int = 1
) -> "ForecastComparison | None":
    """The predictions for two states of a machine; None if either has none."""
    from railgauge.topo.predict.comparison import ForecastComparison

    try:
        return ForecastComparison(edits=edits, before=_forecast(before, nodes), after=_forecast(after, nodes))
    except Error:
        return None


def planned(machine: Machine, nodes: int = 1) -> "NodePlan":
    """What NCCL would run on a machine, as one of several such nodes; Error if it finds no channels."""
    from railgauge.topo.channels.graph import Policy
    from railgauge.topo.channels.search import search
    from railgauge.topo.predict.plan import NodePlan

    denied = machine.denied
    graphs = search(machine.system, nodes=nodes, policy=Policy.NCCL, steering=machine.steering, denied=denied)
    return NodePlan(system=machine.system, table=machine.paths, graphs=graphs, nodes=nodes, steering=machine.steering)


def _forecast(machine: Machine, nodes: int) -> "Forecast":
    from railgauge.topo.nccl.settings.algorithm import Collective
    from railgauge.topo.nccl.settings.algorithms import read_allowed
    from railgauge.topo.predict.forecast import forecast, nccl_rows

    return forecast(planned(machine, nodes), Collective.ALL_REDUCE, (SIZE,), read_allowed(machine.settings), nccl_rows)
