# SPDX-License-Identifier: Apache-2.0
"""`railgauge run --trace`: what is replayed, and its answer beside the forecast."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from railgauge.cli.streams import tell
from railgauge.collectives.device import Device
from railgauge.collectives.document import RunDocument
from railgauge.collectives.engine import Engine
from railgauge.topo.errors import Error, UsageError

if TYPE_CHECKING:
    from railgauge.collectives.replay import ReplayRow
    from railgauge.topo.jobs.traces.trace import TracedOperation
    from railgauge.topo.machine import Machine

SMALLEST = 8
"""Bytes: replayed groups have buffers of their own."""
EXCLUDED = {
    "collective": "COLLECTIVE",
    "dtype": "-d",
    "root": "-r",
    "begin": "-b",
    "end": "-e",
    "step": "-i",
    "factor": "-f",
    "iterations": "-n",
    "aggregate": "-m",
    "cycles": "-N",
    "average": "-a",
    "cpu_time": "-C",
    "blocking": "-z",
    "cudagraph": "-G",
    "tune": "--tune",
    "fault": "--fault",
    "min_busbw": "--min-busbw",
    "compare": "--compare",
    "tolerance": "--tolerance",
    "expect_transport": "--expect-transport",
    "counters": "--counters",
    "outputs": "-o",
}
"""Parameters that --trace excludes, and how they are given."""


ELSEWHERE = ("hostfile", "hosts", "launcher", "rank", "ngpus", "nthreads")
"""Parameters that say how many ranks there are."""


def given_in(ctx: Any) -> dict[str, bool]:
    """By parameter, whether the command line has it."""
    sources = {name: ctx.get_parameter_source(name) for name in (*EXCLUDED, *ELSEWHERE)}
    return {name: bool(source) and source.name == "COMMANDLINE" for name, source in sources.items()}


def ranks_to_start(ranks: int | None, operations: "Sequence[TracedOperation]", ctx: Any) -> int | None:
    """As many ranks as the trace has, where nothing else says how many, and this process is not one of a job."""
    from railgauge.collectives.launch.place import find_place
    from railgauge.collectives.replay import ranks_needed

    given = given_in(ctx)
    if ranks is not None or any(given[name] for name in ELSEWHERE) or find_place(os.environ, None):
        return ranks
    return ranks_needed(operations)


def operations_of(paths: Sequence[str], given: Mapping[str, Any]) -> "tuple[TracedOperation, ...]":
    """The operations of some traces. `given`: by parameter, whether the command line has it.

    Raises:
        UsageError: an option that a trace decides. InputError: a trace is unreadable, or has no operation.
    """
    from railgauge.topo.jobs.traces.merge import merged
    from railgauge.topo.jobs.traces.read import read_trace

    if wrong := [flag for name, flag in EXCLUDED.items() if given[name]]:
        raise UsageError(f"{', '.join(wrong)}: --trace has the operations; leave it out")
    trace = read_trace(paths, lambda text: tell(f"railgauge run: {text}"))
    for why, count in trace.left_out.items():
        tell(f"railgauge run: {count} operations of the trace left out: {why}")
    return tuple(merged(trace))


def with_forecast(document: RunDocument) -> RunDocument:
    """The document with NCCL's forecast on such machines, where NCCL ran the replay; our own engine has its own."""
    if not document.replay or document.engine != Engine.NCCL or document.device != Device.CUDA:
        return document
    from railgauge.topo.machine import load_machine

    try:
        times = nccl_times(document, load_machine(tolerant=True))
    except Error as error:
        tell(f"railgauge run: no forecast: {error}")
        return document
    rows = (replace(row, forecast_us=us) for row, us in zip(document.replay, times, strict=True))
    return replace(document, replay=tuple(rows))


def nccl_times(document: RunDocument, machine: "Machine") -> list[float]:
    """The forecast of each replayed row in us, on equal machines; UsageError if the ranks do not fit on them."""
    from railgauge.topo.jobs.bill.bill import BilledMachine, PriceList
    from railgauge.topo.jobs.bill.placement import machine_of, placement
    from railgauge.topo.jobs.traces.trace import TracedGroup
    from railgauge.topo.nccl.settings.algorithm import Collective
    from railgauge.topo.nccl.settings.algorithms import read_allowed
    from railgauge.topo.predict.planned import planned

    per_node = document.ranks // document.nodes
    used = machine_of(machine, tuple(range(per_node)))
    prices = PriceList(BilledMachine(machine=used, plan_of=planned, allowed=read_allowed(machine.settings)))
    found = []
    for row in document.replay:
        where = placement(TracedGroup(name="", size=len(row.ranks), ranks=tuple(row.ranks)), per_node, document.nodes)
        redop = "sum" if row.redop == "none" else row.redop
        terms = where, Collective(row.collective), row.dtype, redop
        found.append(prices.prices(terms, [row.bytes])[row.bytes].after.time_us)
    return found


def replay_lines(document: RunDocument) -> list[str]:
    """The table: equal operations of a group in one line, those that took longest first."""
    from railgauge.topo.render.wrapping import fitting

    rows = sorted(document.replay, key=lambda row: -row.time_us * row.times)
    head = ["# operation", "size", "type", "redop", "ranks", "times", "time us", "forecast", "trace", "busbw", "#wrong"]
    table = [head, *(_cells(row) for row in rows)]
    wide = [max(len(cells[place]) for cells in table) for place in range(len(head))]
    aligned = [
        [cell if place in LEFT else cell.rjust(wide[place]) for place, cell in enumerate(cells)] for cells in table
    ]
    wrong = sum(row.wrong or 0 for row in rows)
    total = sum(row.time_us * row.times for row in rows)
    forecast = [row.forecast_us * row.times for row in rows if row.forecast_us is not None]
    beside = f", forecast {sum(forecast):.1f} us" if len(forecast) == len(rows) else ""
    checked = "not verified" if all(row.wrong is None for row in rows) else "FAILED" if wrong else "OK"
    return [
        *fitting(aligned, None),
        f"# Sum over all groups : {total:.1f} us{beside}",
        f"# Out of bounds values : {wrong} {checked}",
    ]


LEFT = (0, 2, 3, 4)
"""Columns of text."""


def _cells(row: "ReplayRow") -> list[str]:
    from railgauge.topo.predict.comparison import size_text
    from railgauge.topo.values.spans import listed

    in_order = row.ranks == sorted(row.ranks)
    return [
        row.collective,
        size_text(row.bytes),
        row.dtype,
        row.redop,
        listed(row.ranks) if in_order else ",".join(map(str, row.ranks)),
        str(row.times),
        f"{row.time_us:.2f}",
        _us(row.forecast_us),
        _us(row.traced_us),
        f"{row.busbw_gb_per_s:.2f}",
        "N/A" if row.wrong is None else str(row.wrong),
    ]


def _us(us: float | None) -> str:
    return "-" if us is None else f"{us:.2f}"
