# SPDX-License-Identifier: Apache-2.0
"""Tables made of forecasts: what a machine would measure if the model were right."""

from railgauge.topo.jobs.judge.suspects import predicted
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, TableRow

SIZES = [1 << power for power in range(3, 34)]


def curve_of(machine, nodes, collective, settings=None, *, share=1.0):
    """Bus bandwidth in GB/s by size, a share of the forecast."""
    found = predicted(machine, nodes, collective, SIZES, settings or {}, 1)
    return {size: share * by for size, by in found.items()}


def table_of(curve, machine, nodes, collective, **fields):
    """A table of nccl-tests with one way of each size."""
    ranks = nodes * len(machine.topology.gpus)
    factor = collective.factor(ranks)
    rows = tuple(
        TableRow(
            size=size,
            out_of_place=Measurement(time_us=size * factor / by / 1e3, algbw_gb_per_s=by / factor, busbw_gb_per_s=by),
        )
        for size, by in curve.items()
    )
    return MeasuredTable(
        program=Program.NCCL_TESTS,
        release="2.17.6",
        library="2.27.5",
        test=f"{collective}_perf",
        collective=collective,
        ranks=ranks,
        nodes=nodes,
        rows=rows,
        **fields,
    )
