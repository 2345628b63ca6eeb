# SPDX-License-Identifier: Apache-2.0
"""The verdict on a measured table: what it reached, what the forecast and the bound of its machine are, and why not."""

from collections.abc import Iterator, Mapping

from railgauge.topo.errors import Error
from railgauge.topo.findings.cards.measured import DIP_AT_SIZE, NUMBER_LOW, PLATEAU_EARLY, UNIT_MISTAKEN
from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.jobs.judge.causes import FittingCause, clearly_fitting, fitting
from railgauge.topo.jobs.judge.curve import LARGE, Sized, large, measured, reached
from railgauge.topo.jobs.judge.departures import collapse, dips, plateau
from railgauge.topo.jobs.judge.devices import judge_devices, of_devices
from railgauge.topo.jobs.judge.forecasts import Forecasts
from railgauge.topo.jobs.judge.judged_table import JudgedTable
from railgauge.topo.jobs.judge.measured_run import NOTHING, check_same, of_all_ranks, other_gpus, run_of, unused_gpus
from railgauge.topo.jobs.judge.shape import GIGABIT, of_table, subject
from railgauge.topo.jobs.tables.table import MeasuredTable
from railgauge.topo.machine import Machine
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.steering import MEANING
from railgauge.topo.predict.comparison import size_text
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.remarks import remarks

GOOD, AWFUL = 0.75, 1 / 3
"""Shares of the forecast: below the first a figure is low, below the second a part of it is not used at all."""
CLEAR = 0.87
"""From here on no cause is looked for: healthy InfiniBand and RoCE that is published is not below."""
HALF = 0.5
"""The share that most sizes from 1 MiB on have to reach where only the largest are good."""
CHOSEN = ("NCCL_CTA_POLICY", "NCCL_SYM_CE_THRESHOLD")
"""Settings that say what ran: the forecast assumes them, they are no fault."""
ABOVE = 1.1
"""Times the bound that no measurement of this machine reaches: clocks and packets allow a few per cent."""


def judge(
    table: MeasuredTable,
    machine: Machine | None,
    why_no_machine: str = "",
    nodes: int = 0,
    settings: Mapping[str, str] = NOTHING,
    in_force: Mapping[str, str] | None = None,
    forecasts: Forecasts | None = None,
) -> JudgedTable:
    """Judge a table beside its machine, one of `nodes` equal ones (default: as the table counts hosts or ranks).

    settings: those of NCCL that the forecast assumes. in_force: those that the run had (default: the machine's), which
    are a cause where they make it slow. forecasts: those of the machine that earlier tables made.
    """
    if machine is not None and (other := other_gpus(table, machine)):
        machine, why_no_machine = None, other
    if of_devices(table):
        return judge_devices(table, machine, why_no_machine)
    table = of_all_ranks(table)
    curve = [] if table.cpu_time else measured(table)
    forecast, bound, why = None, None, why_no_machine
    causes: tuple[FittingCause, ...] = ()
    network = ""
    known: tuple[str, ...] = ()
    if machine is not None and not machine.system.gpus:
        machine, why = None, "the machine has no GPUs"
    if table.collective is None:
        why = "the table does not say between which devices, or of which collective"
    own = tuple(of_table(table))
    if any(one.id == UNIT_MISTAKEN.id for one in own):
        machine, why = None, "a column of the table is mistaken"
    if curve and machine is not None and table.collective is not None:
        try:
            had = machine.settings if in_force is None else in_force
            settings = {**{name: had[name] for name in CHOSEN if name in had}, **settings}
            run = run_of(table, table.collective, curve, machine, nodes, settings)
            check_same(table, machine, run.nodes)
            forecasts = (forecasts or Forecasts(machine)).without(unused_gpus(machine, table, run.nodes))
            forecast = dict(forecasts.healthy(run))
            known = (*remarks(forecasts.plan(run), run.collective), *filter(None, [forecasts.faulty(run)]))
            bound = forecasts.bound(run)
            if (share := _share(curve, forecast)) < CLEAR:
                search = fitting if share < GOOD else clearly_fitting
                causes = tuple(search(curve, run, forecasts, _steering(had, settings)))
                network = _network(forecasts.plan(run), run.collective, reached(curve))
        except Error as error:
            why = str(error)
    return JudgedTable(
        table=table,
        curve=tuple(curve),
        reached=reached(curve) if curve else None,
        forecast=forecast,
        bound=bound,
        causes=causes,
        departs=tuple(one.size for one in large(curve) if forecast and one.gb_per_s < GOOD * forecast[one.size]),
        why_no_forecast="" if forecast else why,
        remarks=known,
        findings=(*own, *_findings(table, curve, forecast, bound, causes, network, why)),
    )


def _steering(had: Mapping[str, str], assumed: Mapping[str, str]) -> dict[str, str]:
    """The settings that change channels and are not assumed."""
    return {name: value for name, value in had.items() if name in MEANING and assumed.get(name) != value}


def _network(plan: NodePlan, collective: Collective, busbw: float) -> str:
    """What each NIC of a node carries when the ranks pass data on in rings or trees: compare it with perftest."""
    if plan.nodes < 2 or not plan.leaves or collective.in_pairs:
        return ""
    return f" (about {busbw / plan.nics:.3g} GB/s for each of the {plan.nics} NICs that NCCL takes)"


def _share(curve: list[Sized], forecast: dict[int, float]) -> float:
    return reached(curve) / reached([Sized(one.size, forecast[one.size]) for one in curve])


def _findings(
    table: MeasuredTable,
    curve: list[Sized],
    forecast: dict[int, float] | None,
    bound: float | None,
    causes: tuple[FittingCause, ...],
    network: str,
    why: str,
) -> Iterator[Finding]:
    if table.cpu_time:
        message = "the times are those of the call on the CPU (-C 1): run it again without"
        yield NUMBER_LOW.finding(Level.UNKNOWN, subject(table), message, fix=False)
    if not curve:
        return
    if forecast is None:
        yield NUMBER_LOW.finding(Level.UNKNOWN, subject(table), f"no forecast to compare with: {why}", fix=False)
    else:
        yield _number(table, curve, forecast, bound, causes, network)
        if not collapse(curve) and (early := plateau(curve, forecast)):
            message = f"{early.gb_per_s:.4g} GB/s from {size_text(early.size)} on; the forecast goes on growing there"
            yield PLATEAU_EARLY.finding(Level.WARN, subject(table), message, evidence={"size": early.size})
    if fallen := collapse(curve):
        top, size = max(one.gb_per_s for one in curve), size_text(fallen.size)
        message = f"bandwidth falls from {top:.3g} to {fallen.gb_per_s:.3g} GB/s at {size} and does not recover"
        yield DIP_AT_SIZE.finding(Level.WARN, subject(table), message, evidence={"sizes": [fallen.size]})
    if found := dips(curve, forecast):
        sizes = ", ".join(f"{size_text(one.size)} ({one.gb_per_s:.3g} GB/s)" for one in found)
        message = f"bandwidth falls at {sizes} and recovers"
        yield DIP_AT_SIZE.finding(Level.WARN, subject(table), message, evidence={"sizes": [one.size for one in found]})


def _number(
    table: MeasuredTable,
    curve: list[Sized],
    forecast: dict[int, float],
    bound: float | None,
    causes: tuple[FittingCause, ...],
    network: str,
) -> Finding:
    share, now = _share(curve, forecast), reached(curve)
    top = reached([Sized(one.size, forecast[one.size]) for one in curve])
    size = size_text(curve[-1].size)
    evidence = {"reached_gb_per_s": now, "forecast_gb_per_s": top, "bound_gb_per_s": bound, "share": share}
    if GIGABIT[0] < share < GIGABIT[1] and (bound is None or now > bound):
        message = f"{now:.4g} is {share:.2g} times the forecast of {top:.4g} GB/s at {size}: Gb/s, not GB/s"
        return UNIT_MISTAKEN.finding(Level.WARN, subject(table), message, evidence=evidence)
    if bound is not None and now > ABOVE * bound:
        message = (
            f"{now:.4g} GB/s busbw at {size} is above the bound of {bound:.4g} GB/s: the table is not of this machine"
        )
        return NUMBER_LOW.finding(Level.UNKNOWN, subject(table), message, evidence=evidence)
    level = Level.PASS if share >= GOOD and not causes else Level.WARN if share >= AWFUL else Level.FAIL
    message = f"{now:.4g} GB/s busbw up to {size}, {share:.0%} of the forecast of {top:.4g} GB/s{network}"
    if level is Level.WARN and curve[-1].size < LARGE:
        message += (
            f"; sizes below {size_text(LARGE)} show latency, which forecasts miss by as much: measure larger ones"
        )
        return NUMBER_LOW.finding(Level.UNKNOWN, subject(table), message, evidence=evidence)
    before = [one for one in large(curve) if one.gb_per_s < HALF * forecast[one.size]]
    if level is Level.PASS and 2 * len(before) > len(large(curve)):
        level = Level.WARN
        message += f", but below half of it from {size_text(before[0].size)} to {size_text(before[-1].size)}"
    if causes:
        how = "it fits" if all(one.gb_per_s or one.cause.seen for one in causes) else "often"
        message += f"; {how}: " + "; or ".join(one.cause.what for one in causes)
    return NUMBER_LOW.finding(level, subject(table), message, evidence=evidence)
