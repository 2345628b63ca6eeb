# SPDX-License-Identifier: Apache-2.0
"""A job's bill: what each operation of its trace costs by the forecast, by step and group of ranks.

Groups that call the same at the same price (as many GPUs of as many nodes) are one line: they run beside each other.
The total of a step is that of the rank with the most communication, one operation after the other; a line's share is
its part of that. An operation's measured time, where the trace has one, includes the wait for the last rank.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from railgauge.topo.errors import UsageError
from railgauge.topo.jobs.bill.placement import Placement, machine_of, nodes_for, placement
from railgauge.topo.jobs.traces.merge import merged
from railgauge.topo.jobs.traces.trace import Trace, TracedGroup, TracedOperation
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import Allowed
from railgauge.topo.predict.comparison import sound
from railgauge.topo.predict.forecast import Forecast, ForecastRow, forecast, nccl_rows
from railgauge.topo.predict.plan import NodePlan

PlanOf = Callable[[Machine, int], NodePlan]
"""The plan of a number of equal nodes."""
Terms = tuple[Placement, Collective, str, str]
"""What operations of one forecast have in common: placement, collective, type, operator."""
Line = tuple[Terms, int]
"""Terms and size in bytes."""
Calls = dict[Line, dict[TracedGroup, list[TracedOperation]]]
"""The operations of a step, or of several that call the same, by line and group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """The forecast of one operation; `before` a change, None without one."""

    after: ForecastRow
    before: ForecastRow | None = None

    @property
    def figures(self) -> tuple[object, ...]:
        """What is equal where GPUs have equal links."""
        rows = (self.after, *([self.before] if self.before else []))
        return tuple((row.algorithm, row.protocol, row.channels, f"{row.time_us:.6g}") for row in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class BillRow:
    """The equal operations of a step in groups that call and pay the same; `times`: in one step, of each group. In us.

    `measured_us`: of one operation, the median of those that have a time.
    """

    operation: TracedOperation
    groups: tuple[TracedGroup, ...]
    placement: Placement
    times: int
    priced: Priced
    share: float
    measured_us: float | None

    @property
    def each_us(self) -> float:
        """One operation."""
        return self.priced.after.time_us

    @property
    def total_us(self) -> float:
        """All of a step in one group."""
        return self.each_us * self.times

    @property
    def limit_share(self) -> float:
        """The part of the time in which data passes the limit; the rest is latency."""
        cost = self.priced.after.cost
        return cost.transfer_us / cost.time_us


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTotal:
    """All operations of a step in one group, each of `groups`: in us, and as a share of the step."""

    groups: tuple[TracedGroup, ...]
    total_us: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BillStep:
    """Steps that call the same (none: the trace has no steps). Times in us, of the rank with the most communication.

    `limits`: by the name of what limits, the share of that time.
    """

    steps: tuple[int, ...]
    rows: tuple[BillRow, ...]
    groups: tuple[GroupTotal, ...]
    total_us: float
    before_us: float | None
    measured_us: float | None
    limits: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The bill of a trace on `nodes` equal machines of `per_node` GPUs; `edits`: what was changed."""

    kinds: tuple[str, ...]
    ranks: int
    nodes: int
    per_node: int
    steps: tuple[BillStep, ...]
    left_out: dict[str, int]
    edits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledMachine:
    """A machine, how NCCL plans on a number of equal ones, and what its settings allow."""

    machine: Machine
    plan_of: PlanOf
    allowed: Allowed


class PriceList:
    """Forecasts of operations on a machine, and `changed` by edits; plans of equal placements are made once.

    `same_settings`: only the machine is changed. One that can do more is then not the slower one.
    """

    def __init__(self, now: BilledMachine, changed: BilledMachine | None = None, *, same_settings: bool = True) -> None:
        self._now, self._changed, self._same_settings = now, changed, same_settings
        self._plans: dict[tuple[bool, int, tuple[int, ...]], NodePlan] = {}

    def prices(self, terms: Terms, sizes: Iterable[int]) -> dict[int, Priced]:
        """By size in bytes. UnavailableError and UsageError as `forecast`."""
        sizes = sorted(sizes)
        first = self._forecast(self._now, terms, sizes)
        if self._changed is None:
            return {row.size: Priced(after=row) for row in first.rows}
        second = self._forecast(self._changed, terms, sizes)
        after = sound(first, second, ()).after if self._same_settings else second
        pairs = zip(after.rows, first.rows, strict=True)
        return {new.size: Priced(after=new, before=old) for new, old in pairs}

    def _forecast(self, on: BilledMachine, terms: Terms, sizes: list[int]) -> Forecast:
        where, collective, dtype, redop = terms
        key = on is self._changed, where.nodes, where.gpus
        if key not in self._plans:
            self._plans[key] = on.plan_of(machine_of(on.machine, where.gpus), where.nodes)
        plan = replace(self._plans[key], datatype=dtype, redop=redop)
        return forecast(plan, collective, sizes, on.allowed, nccl_rows)


def bill(trace: Trace, machine: Machine, prices: PriceList, nodes: int | None, edits: tuple[str, ...] = ()) -> Bill:
    """The bill of a trace; `nodes` None takes as many as its ranks need. Errors as `PriceList.prices`, `placement`."""
    per_node = len(machine.system.gpus)
    if not per_node:
        raise UsageError("the machine has no GPU, and the operations of a trace are those of GPUs")
    operations = merged(trace)
    ranks = max(trace.world, *(max(one.group.ranks, default=one.group.size - 1) + 1 for one in operations))
    nodes = nodes or nodes_for(ranks, per_node)
    places = {group: placement(group, per_node, nodes) for group in {one.group for one in operations}}
    priced = _all_prices(operations, places, prices)
    return Bill(
        kinds=tuple(sorted(trace.kinds)),
        ranks=ranks,
        nodes=nodes,
        per_node=per_node,
        steps=tuple(_steps(operations, places, priced)),
        left_out=trace.left_out,
        edits=edits,
    )


def _terms(operation: TracedOperation, where: Placement) -> Terms:
    return where, operation.collective, operation.dtype, operation.redop


def _all_prices(
    operations: list[TracedOperation], places: dict[TracedGroup, Placement], prices: PriceList
) -> dict[Line, Priced]:
    sizes: dict[Terms, set[int]] = defaultdict(set)
    for one in operations:
        sizes[_terms(one, places[one.group])].add(one.bytes)
    return {
        (terms, size): price
        for terms, some in sorted(sizes.items())
        for size, price in prices.prices(terms, some).items()
    }


def _steps(
    operations: list[TracedOperation], places: dict[TracedGroup, Placement], priced: dict[Line, Priced]
) -> Iterable[BillStep]:
    """The steps, those that call the same as one."""
    by_step: dict[int | None, list[TracedOperation]] = defaultdict(list)
    for one in operations:
        by_step[one.step].append(one)
    alike: dict[frozenset[tuple[object, int]], list[int | None]] = defaultdict(list)
    for step, some in by_step.items():
        counted = Counter((one.group, _terms(one, places[one.group]), one.bytes) for one in some)
        alike[frozenset(counted.items())].append(step)
    for steps in alike.values():
        yield _step(steps, [one for step in steps for one in by_step[step]], places, priced)


def _step(
    steps: Sequence[int | None],
    operations: list[TracedOperation],
    places: dict[TracedGroup, Placement],
    priced: dict[Line, Priced],
) -> BillStep:
    calls: Calls = defaultdict(lambda: defaultdict(list))
    for one in operations:
        calls[_terms(one, places[one.group]), one.bytes][one.group].append(one)
    after = {line: price.after.time_us for line, price in priced.items()}
    before = {line: price.before.time_us for line, price in priced.items() if price.before}
    total, busiest = _busiest(calls, after, len(steps))
    rows = sorted(_rows(calls, priced, len(steps), total), key=lambda row: -row.total_us)
    return BillStep(
        steps=tuple(step for step in steps if step is not None),
        rows=tuple(rows),
        groups=tuple(_group_totals(calls, after, len(steps), total)),
        total_us=total,
        before_us=_busiest(calls, before, len(steps))[0] if before else None,
        measured_us=_measured(calls, busiest, len(steps)),
        limits=_limits(calls, priced, busiest),
    )


def _rows(calls: Calls, priced: dict[Line, Priced], steps: int, total: float) -> Iterable[BillRow]:
    """A row for what groups call and pay in the same manner: one operation, as often, at the same price."""
    alike: dict[tuple[object, ...], list[tuple[Line, TracedGroup]]] = defaultdict(list)
    for line, by_group in calls.items():
        (where, *what), size = line
        for group, some in by_group.items():
            times = _times(some, steps)
            key = *what, size, times, where.nodes, len(where.gpus), where.assumed, priced[line].figures
            alike[key].append((line, group))
    for members in alike.values():
        members.sort(key=lambda one: (one[1].ranks, one[1].name))
        line, group = members[0]
        known = [one.measured_us for of, each in members for one in calls[of][each] if one.measured_us is not None]
        times = _times(calls[line][group], steps)
        yield BillRow(
            operation=calls[line][group][0],
            groups=tuple(each for _, each in members),
            placement=line[0][0],
            times=times,
            priced=priced[line],
            share=priced[line].after.time_us * times / total,
            measured_us=median(known) if known else None,
        )


def _times(operations: list[TracedOperation], steps: int) -> int:
    """How often one step has them."""
    return max(1, len(operations) // steps)


def _limits(calls: Calls, priced: dict[Line, Priced], groups: set[TracedGroup]) -> dict[str, float]:
    """By what limits, the share of some groups' time; the largest first."""
    us: dict[str, float] = defaultdict(float)
    for line, by_group in calls.items():
        count = sum(len(by_group[group]) for group in groups & by_group.keys())
        us[priced[line].after.limit.name] += priced[line].after.time_us * count
    total = sum(us.values())
    return {name: us[name] / total for name in sorted(us, key=lambda name: -us[name]) if us[name]}


def _by_group(calls: Calls, us: dict[Line, float], steps: int) -> dict[TracedGroup, float]:
    """The time of each group in a step."""
    found: dict[TracedGroup, float] = defaultdict(float)
    for line, groups in calls.items():
        for group, some in groups.items():
            found[group] += us[line] * _times(some, steps)
    return found


def _group_totals(calls: Calls, us: dict[Line, float], steps: int, total: float) -> Iterable[GroupTotal]:
    """The time of each group in a step, groups of one size and time together; the most expensive first."""
    alike: dict[tuple[int, str], list[TracedGroup]] = defaultdict(list)
    times = _by_group(calls, us, steps)
    for group in sorted(times, key=lambda one: (one.ranks, one.name)):
        alike[group.size, f"{times[group]:.6g}"].append(group)
    for groups in sorted(alike.values(), key=lambda some: -times[some[0]]):
        one = times[groups[0]]
        yield GroupTotal(groups=tuple(groups), total_us=one, share=one / total)


def _busiest(calls: Calls, us: dict[Line, float], steps: int) -> tuple[float, set[TracedGroup]]:
    """The time of a step on the rank with the most communication, and the groups that it is in.

    A group whose ranks are unknown counts on every rank.
    """
    by_group = _by_group(calls, us, steps)
    anywhere = {group for group in by_group if not group.ranks}
    by_rank: dict[int, set[TracedGroup]] = defaultdict(set)
    for group in by_group:
        for rank in group.ranks:
            by_rank[rank].add(group)
    candidates = [groups | anywhere for groups in by_rank.values()] or [anywhere]
    most = max(candidates, key=lambda groups: sum(by_group[group] for group in groups))
    return sum(by_group[group] for group in most), most


def _measured(calls: Calls, groups: set[TracedGroup], steps: int) -> float | None:
    """The measured time of some groups in a step; None if an operation of theirs has none."""
    times = [one.measured_us for by_group in calls.values() for group in groups for one in by_group.get(group, ())]
    known = [us for us in times if us is not None]
    return sum(known) / steps if len(known) == len(times) else None
