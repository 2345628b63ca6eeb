# SPDX-License-Identifier: Apache-2.0
"""What a fault costs, by the cost model of `graph predict`: an all-reduce of 1 GiB with and without it.

The search and the model are loaded for a finding alone: a healthy machine is examined without them.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from railgauge.topo.errors import Error
from railgauge.topo.peer_status import denied_pairs
from railgauge.topo.rules.case import Case
from railgauge.topo.topology import Topology

if TYPE_CHECKING:
    from railgauge.topo.predict import Forecast

SIZE = 1 << 30


def effect_of(case: Case, *, sets: Iterable[str] = (), drops: Iterable[str] = (), nodes: int = 1) -> str:
    """What edits that make the plan as the machine really is (what_if.py) do to the prediction; "" where nothing is
    predicted, such as for one GPU alone.
    """
    from railgauge.topo.predict.comparison import Comparison
    from railgauge.topo.what_if import edited

    sets, drops = tuple(sets), tuple(drops)
    try:
        before = forecast_of(case, case.machine.topology, nodes)
        after = forecast_of(case, edited(case.machine.topology, sets, drops), nodes)
    except Error:
        return ""
    return Comparison(edits=(*sets, *drops), before=before, after=after).statement


def once_mended(case: Case, sets: Iterable[str], *, nodes: int = 2) -> str:
    """What edits that mend a fault do to the prediction for several such nodes; "" where nothing is predicted."""
    gain = effect_of(case, sets=sets, nodes=nodes)
    return f"once mended, {nodes} such nodes: {gain}" if gain else ""


def forecast_of(case: Case, topology: Topology, nodes: int) -> "Forecast":
    """The prediction for a machine of that topology with the settings and the driver of `case`; Error without one."""
    from railgauge.topo.algorithm import Collective
    from railgauge.topo.channels import Policy, search
    from railgauge.topo.predict import Plan, forecast
    from railgauge.topo.settings.algorithms import read_allowed

    there = Case(replace(case.machine, topology=topology))
    denied = denied_pairs(there.system, case.reader)
    graphs = search(there.system, nodes=nodes, policy=Policy.NCCL, steering=case.steering, denied=denied)
    plan = Plan(system=there.system, table=there.table, graphs=graphs, nodes=nodes, steering=case.steering)
    return forecast(plan, Collective.ALL_REDUCE, (SIZE,), read_allowed(case.settings))
