# SPDX-License-Identifier: Apache-2.0
"""Predictions beside published tables: `python -m benchmarks.predict.published [--half set|judge] [-o FILE.jsonl]`.

Every row of tables.jsonl whose machine is known well enough (machines.py), by the error of its time. Constants of
topo/predict/calibration.py are fitted to the half "set" alone; the half "judge" judges.
"""

import argparse
import json
import pathlib
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.predict.published import PublishedTable, half, read
from benchmarks.predict.published.machines import machine_of, missing, nodes_of

from railgauge.topo.jobs.judge.plans import Plans
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.nccl.settings.steering import MEANING
from railgauge.topo.predict.forecast import Forecast, forecast, nccl_rows
from railgauge.topo.predict.release import known_release

SMALL = 1 << 20  # below it times are mostly latency
PEAK = 8 << 30  # the size of a figure that is stated without one
WORST = 12
SIMPLE_OVER_EFA = (
    2,
    19,
    0,
)  # EFA's plugin of the years before set NCCL_PROTO=simple on p4d (aws-ofi-nccl, platform-aws.c)
PLANS = Plans()
NO_COLLNET = "NCCL_COLLNET_ENABLE"  # set by habit: no table has a network that reduces


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("set", "judge"), help="one half alone")
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("-o", metavar="FILE", help="write a line of JSON for each row there")
    arguments = parser.parse_args()
    tables = [table for table in read() if arguments.half in (None, half(table.source))]
    results = [result for table in tables if not missing(table) for result in compare(table)]
    if arguments.rows:
        print(*(row_text(result) for result in results), sep="\n")
    print(*summary(results), *left_out(tables), sep="\n")
    if arguments.o:
        pathlib.Path(arguments.o).write_text("".join(json.dumps(result) + "\n" for result in results))


def compare(table: PublishedTable) -> Iterator[dict[str, Any]]:
    """Each row of a table beside its prediction."""
    measured = list(measured_rows(table))
    found = predicted(table, [size for size, _ in measured])
    for (size, us), row in zip(measured, found.rows, strict=True):
        yield {
            "schema": "railgauge/bench/1",
            "benchmark": "predict-published",
            "half": half(table.source),
            "source": table.source,
            "title": table.title,
            "machine": f"{nodes_of(table.machine)} x {table.ranks // nodes_of(table.machine)} {table.machine.gpu}",
            "network": table.machine.network,
            "release": table.release,
            "collective": table.collective,
            "bytes": size,
            "algorithm": str(row.algorithm),
            "protocol": str(row.protocol),
            "measured_us": round(us, 2),
            "predicted_us": round(row.time_us, 2),
            "error": round(row.time_us / us - 1, 4),
        }


def measured_rows(table: PublishedTable) -> Iterator[tuple[int, float]]:
    """Sizes and times in us; by the bus bandwidth where no time is given."""
    factor = Collective(table.collective).factor(table.ranks)
    for row in table.rows:
        if row.us:
            yield row.bytes, row.us
        elif row.busbw:
            yield row.bytes, row.bytes * factor / row.busbw / 1e3
    if not table.rows and table.peak_busbw:
        yield PEAK, PEAK * factor / table.peak_busbw / 1e3


def predicted(table: PublishedTable, sizes: list[int]) -> Forecast:
    """The prediction for a table, over the channels that NCCL would choose."""
    settings = settings_of(table)
    plan = PLANS.plan(machine_of(table), nodes_of(table.machine), settings, known_release(table.release))
    plan = replace(plan, per_thread=table.per_thread or 1, datatype=table.type, redop=table.redop or "sum")
    return forecast(plan, Collective(table.collective), sizes, read_allowed(settings), nccl_rows)


def settings_of(table: PublishedTable) -> dict[str, str]:
    """The settings of a table that a prediction takes; without NVLS if it is known to have taken no part."""
    found = dict(text.split("=", 1) for text in table.settings if "=" in text)
    kept = {name: value for name, value in found.items() if name in MEANING and name != NO_COLLNET}
    if (table.machine.cloud or "").startswith("p4d") and known_release(table.release) < SIMPLE_OVER_EFA:
        kept.setdefault("NCCL_PROTO", "Simple")
    return kept | ({"NCCL_NVLS_ENABLE": "0"} if table.nvls is False else {})


def row_text(result: dict[str, Any]) -> str:
    return (
        "{half:<5} {title:.44} {collective:<14} {bytes:>12} {algorithm:<8} {protocol:<6} {measured_us:>10.1f} "
        "{predicted_us:>10.1f} {error:>+6.0%}".format(**result)
    )


def summary(results: list[dict[str, Any]]) -> Iterator[str]:
    """The errors of each half, small and large sizes apart, and the tables with the worst of them."""
    for name in ("set", "judge"):
        for words, small in (("below 1 MiB", True), ("from 1 MiB on", False)):
            counted = [one for one in results if one["half"] == name and (one["bytes"] < SMALL) is small]
            errors = sorted(abs(one["error"]) for one in counted)
            if not errors:
                continue
            within = sum(error <= (0.2 if small else 0.1) for error in errors) / len(errors)
            yield (
                f"{name}, {words}: {len(errors)} rows of {len({(one['source'], one['title']) for one in counted})} "
                f"tables, median error {statistics.median(errors):.1%}, {within:.0%} within {'20' if small else '10'} %"
            )
            yield from (f"    {text}" for text in worst(counted))


def worst(results: list[dict[str, Any]]) -> Iterator[str]:
    """The tables with the largest median error."""
    tables: dict[str, list[float]] = {}
    for one in results:
        key = f"{one['title']}, {one['collective']}, NCCL {one['release'] or 'unknown'} ({one['source']})"
        tables.setdefault(key, []).append(one["error"])
    order = sorted(tables.items(), key=lambda pair: -abs(statistics.median(pair[1])))
    for key, errors in order[:WORST]:
        yield f"{statistics.median(errors):>+6.0%} in the median of {len(errors)} rows: {key}"


def left_out(tables: list[PublishedTable]) -> Iterator[str]:
    """How many tables are not compared, and why."""
    why = Counter(reason for table in tables if (reason := missing(table)))
    for reason, count in why.most_common():
        yield f"not compared: {count} tables, {reason}"


if __name__ == "__main__":
    main()
