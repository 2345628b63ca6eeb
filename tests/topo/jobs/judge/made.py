# SPDX-License-Identifier: Apache-2.0
"""Tables made of forecasts: what a machine would measure if the model were right."""

from railgauge.topo.jobs.judge.measured_run import MeasuredRun
from railgauge.topo.jobs.tables.table import MeasuredTable, Measurement, Program, TableRow

SIZES = [1 << power for power in range(3, 34)]


def curve_of(machine, nodes, collective, settings=None, *, share=1.0):
    """Bus bandwidth in GB/s by size, a share of the forecast."""
    run = MeasuredRun(collective=collective, sizes=tuple(SIZES), nodes=nodes, settings=tuple((settings or {}).items()))
    found = run.predicted(machine)
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


def as_nccl_tests(curve, collective, ranks, gpu):
    """The same as nccl-tests 2.17 prints it."""
    lines = [
        "# nccl-tests version 2.17.6 nccl-headers=22705 nccl-library=22705",
        f"# Collective test starting: {collective}_perf",
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
        "validation: 1 graph: 0",
        "#",
        "# Using devices",
        *(
            f"#  Rank {rank:2} Group  0 Pid {1000 + rank} on      gpu01 device {rank:2} [0000:{rank + 27:02x}:00] {gpu}"
            for rank in range(ranks)
        ),
        "#",
        "#                                                              out-of-place                       in-place",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
        "#wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)",
    ]
    factor = collective.factor(ranks)
    for size, by in curve.items():
        way = f"{size * factor / by / 1e3:8.2f} {by / factor:7.2f} {by:7.2f}      0"
        lines.append(f"{size:12} {size // 4:13}     float     sum      -1 {way} {way}")
    average = sum(curve.values()) / len(curve)
    return "\n".join([*lines, "# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {average:.6g}", "#", ""])
