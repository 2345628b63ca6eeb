# SPDX-License-Identifier: Apache-2.0
"""What a fault costs, by the cost model of `graph predict`: an all-reduce of 1 GiB with and without it.

Two nodes are a special case: NCCL's trees have no inner node then, so that NICs carry half of what they do in larger
jobs. Where four nodes lose another share, that is stated too.

The search and the model are loaded for a finding alone: a healthy machine is examined without them.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from railgauge.topo.errors import INTERNAL_ERROR, Error, described
from railgauge.topo.findings.finding import Finding
from railgauge.topo.findings.node.repair import NO_REPAIR, Repair
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.algorithm import Collective

if TYPE_CHECKING:
    from railgauge.topo.predict.comparison import ForecastComparison
    from railgauge.topo.predict.forecast import Forecast

SIZE = 1 << 30
PAIR, SEVERAL = 2, 4
"""Nodes that a fault is priced on, and those of a larger job."""
ON_SEVERAL = f"; on {SEVERAL} nodes "
APART = 0.05  # from which on another share of the bandwidth is stated
PLUGIN = "no price: NCCL uses such RDMA devices (EFA) through a network plugin, which is not modelled"
UNPRICED = f"no price: {INTERNAL_ERROR}"
SPLIT = "no price: NCCL splits the node, and the part that is predicted does not lose by it"


class Prices:
    """What each fault of a machine costs by itself: the machine without faults, and with that one alone."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._whole: dict[int, Forecast] = {}

    @cached_property
    def repairs(self) -> tuple[Repair, ...]:
        """The repairs that the rules know for this machine."""
        from railgauge.topo.findings.node.rules import repairs

        return repairs(self._machine)

    @property
    def _nodes(self) -> int:
        return PAIR if self._machine.system.nets else 1

    def loss(self, subject: str, *, nodes: int | None = None) -> str:
        """The predicted loss by the fault of a subject, in words where it is none or cannot be known; "" without a
        prediction, such as for a single GPU.

        nodes: default two, or one where there is no NIC.
        """
        fault = next((one for one in self.repairs if one.subject == subject), NO_REPAIR)
        others = [one for one in self.repairs if one != fault]
        return self._between(lambda: repaired(self._machine, others), fault.edits, nodes or self._nodes)

    def on(self, finding: Finding, *, nodes: int | None = None) -> Finding:
        """The finding with the predicted loss by the fault of its subject; see `priced`."""
        return priced(finding, lambda: self.loss(finding.subject, nodes=nodes))

    def without(self, subject: str) -> str:
        """The predicted loss of a device that the topology has and no job can use; "" without a prediction."""
        return self._between(lambda: with_edits(self._repaired, drops=(subject,)), (subject,), self._nodes)

    @cached_property
    def _repaired(self) -> Machine:
        return repaired(self._machine, self.repairs)

    def _between(self, faulty: Callable[[], Machine], edits: tuple[str, ...], nodes: int) -> str:
        """What the machine without faults loses by one."""
        if nodes > 1 and self._machine.sources.is_plugin_network:
            return PLUGIN
        if not edits:
            return ""
        try:
            broken = faulty()
            if broken.system == self._repaired.system and broken.topology != self._repaired.topology:
                return ""  # the repair joins nothing: which GPUs the missing links of a mesh were between is unknown
            found = self._found(broken, edits, nodes)
            larger = self._found(broken, edits, SEVERAL) if nodes == PAIR else found
        except Error:
            return ""
        return _words(found) + _on_several(found, larger)

    def _found(self, broken: Machine, edits: tuple[str, ...], nodes: int) -> "ForecastComparison":
        from railgauge.topo.predict.comparison import ForecastComparison, no_slower

        after = _forecast(broken, nodes)
        if nodes not in self._whole:
            self._whole[nodes] = _forecast(self._repaired, nodes)
        return ForecastComparison(edits=edits, before=no_slower(self._whole[nodes], after), after=after)


def priced(finding: Finding, price: Callable[[], str], unpriced: str = "") -> Finding:
    """The finding with its price as its effect; where there is none, with `unpriced`, or as it is.

    If railgauge itself fails at the price, the finding stands, with the error.
    """
    try:
        effect = price()
    except Error:
        raise
    except Exception as error:
        said = described(error)
        effect = "; ".join(filter(None, (finding.effect, UNPRICED + said)))
        return replace(finding, effect=effect, error=said)
    return replace(finding, effect=effect or unpriced or finding.effect)


def _words(found: "ForecastComparison") -> str:
    from railgauge.topo.predict.comparison import size_text

    if found.is_small and found.after.plan.parts > found.after.plan.nodes:
        return SPLIT
    row = found.after.rows[-1]
    rest = f"({row.busbw_gb_per_s:.3g} GB/s busbw; bottleneck {row.limit.name})"
    what = f"{found.after.plan.nodes}-node {found.after.collective} {size_text(row.size)} {rest}"
    return f"under 1 % of a {what}: other links limit it" if found.is_small else found.statement


def _on_several(found: "ForecastComparison", larger: "ForecastComparison") -> str:
    """What more nodes lose or gain, where that is another share; where NCCL's choice turns the sign, nothing."""
    is_alike = abs(found.change - larger.change) < APART or larger.is_small
    is_odd = (found.change > 0) is not (larger.change > 0)
    return "" if is_alike or is_odd else f"{ON_SEVERAL}{larger.bandwidths}"


def repaired(machine: Machine, repairs: Iterable[Repair]) -> Machine:
    """The machine without those faults, as far as its topology can have it."""
    from railgauge.topo.compare.port_up import with_ports_up
    from railgauge.topo.compare.restored import restored

    known = list(repairs)
    ports = {port: rate for repair in known for port, rate in repair.ports.items()}
    if ports:
        with suppress(Error):
            machine = with_ports_up(machine, ports)
    for repair in known:
        with suppress(Error):
            machine = with_edits(machine, repair.sets)
        if repair.lost:
            with suppress(Error):
                machine = replace(machine, topology=restored(machine.running, repair.lost))
    return machine


def with_edits(machine: Machine, sets: Iterable[str] = (), drops: Iterable[str] = ()) -> Machine:
    """The machine after edits (what_if.py), under the same settings; Error if an edit is not possible."""
    from railgauge.topo.compare.what_if import edited

    return replace(machine, topology=edited(machine.running, sets, drops))


def once_fixed(machine: Machine, sets: Iterable[str], *, nodes: int = PAIR) -> str:
    """The predicted gain from edits that fix a fault, for several such nodes; "" without a prediction or a gain.

    Where it gets worse, since NCCL's search finds other channels, that is not an effect of the fault.
    """
    edits = tuple(sets)
    try:
        fixed = with_edits(machine, edits)
        found = compared(machine, fixed, edits, nodes=nodes)
        larger = compared(machine, fixed, edits, nodes=SEVERAL)
    except Error:
        return ""
    if not found or not larger or found.change <= 0 or found.is_small:
        return ""
    return f"once fixed, {nodes} such nodes: {found.statement}" + (_on_several(found, larger) if nodes == PAIR else "")


def compared(
    before: Machine,
    after: Machine,
    edits: tuple[str, ...] = (),
    *,
    nodes: int = 1,
    collective: Collective = Collective.ALL_REDUCE,
) -> "ForecastComparison | None":
    """The predictions for two states of a machine; None if either has none."""
    from railgauge.topo.predict.comparison import ForecastComparison

    try:
        old, new = (_forecast(machine, nodes, collective) for machine in (before, after))
        return ForecastComparison(edits=edits, before=old, after=new)
    except Error:
        return None


def _forecast(machine: Machine, nodes: int, collective: Collective = Collective.ALL_REDUCE) -> "Forecast":
    from railgauge.topo.nccl.settings.algorithms import read_allowed
    from railgauge.topo.predict.forecast import forecast, nccl_rows
    from railgauge.topo.predict.planned import planned

    return forecast(planned(machine, nodes), collective, (SIZE,), read_allowed(machine.settings), nccl_rows)
