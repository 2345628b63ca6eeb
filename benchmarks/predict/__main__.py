# SPDX-License-Identifier: Apache-2.0
"""Predictions beside measured results: `python -m benchmarks.predict [-o FILE.jsonl]`.

measured.jsonl has a table a line: `source` says where it is from, `use` whether it set the constants of
topo/predict/calibration.py ("calibration") or was held out ("held-out"). The machine is the fixture `from` without what
`drop` names. Rows are [bytes, us].
"""

import argparse
import json
import pathlib
import statistics
from collections.abc import Iterator
from typing import Any

from railgauge.topo.channels.graph import Policy
from railgauge.topo.compare.what_if import edited
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.nccl.paths.paths import paths
from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.nccl.settings.steering import parse_settings, read_steering
from railgauge.topo.predict.fabric import Fabric, FabricKind
from railgauge.topo.predict.forecast import Forecast, forecast, nccl_rows
from railgauge.topo.predict.plan import NodePlan
from railgauge.topo.predict.search import search

MEASURED = pathlib.Path(__file__).with_name("measured.jsonl")
SMALL = 1 << 20  # below it times are mostly latency


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-o", metavar="FILE", help="write a line of JSON for each row there")
    output = arguments.parse_args().o
    results = [result for line in MEASURED.read_text().splitlines() for result in compare(json.loads(line))]
    for result in results:
        print(
            "{name:<34} {use:<12} {bytes:>11} {measured_us:>9.1f} {predicted_us:>9.1f} {error:>+6.0%}".format(**result)
        )
    print(*summary(results), sep="\n")
    if output:
        pathlib.Path(output).write_text("".join(json.dumps(result) + "\n" for result in results))


def compare(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each row of a table beside its prediction."""
    found = predicted(table)
    for (size, measured), row in zip(table["rows"], found.rows, strict=True):
        yield {
            "schema": "railgauge/bench/1",
            "benchmark": "predict",
            **{key: table[key] for key in ("name", "use", "source")},
            "bytes": size,
            "algorithm": str(row.algorithm),
            "protocol": str(row.protocol),
            "measured_us": measured,
            "predicted_us": round(row.time_us, 2),
            "error": round(row.time_us / measured - 1, 4),
        }


def predicted(table: dict[str, Any]) -> Forecast:
    """The prediction for a table, over the channels that NCCL would choose."""
    settings = parse_settings(table["settings"])
    steering = read_steering(settings)
    system = build_system(edited(load_machine(table["from"]).topology, drops=table["drop"]))
    plan = NodePlan(
        system=system,
        table=paths(system, levels=steering.levels),
        graphs=search(system, nodes=table["nodes"], policy=Policy.NCCL, steering=steering),
        nodes=table["nodes"],
        steering=steering,
        fabric=Fabric(kind=FabricKind(table["fabric"])),
        per_thread=table["per_thread"],
        symmetric=table.get("symmetric", False),
    )
    sizes = [size for size, _ in table["rows"]]
    return forecast(plan, Collective(table["collective"]), sizes, read_allowed(settings), nccl_rows)


def summary(results: list[dict[str, Any]]) -> Iterator[str]:
    """The median and largest error of each use, small and large sizes apart."""
    for use in ("calibration", "held-out"):
        for words, small in (("below 1 MiB", True), ("from 1 MiB on", False)):
            counted = (result for result in results if result["use"] == use and (result["bytes"] < SMALL) is small)
            errors = [abs(result["error"]) for result in counted]
            if errors:
                median, most = statistics.median(errors), max(errors)
                yield f"{use}, {words}: {len(errors)} rows, median error {median:.0%}, largest {most:.0%}"


if __name__ == "__main__":
    main()
