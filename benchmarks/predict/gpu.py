# SPDX-License-Identifier: Apache-2.0
"""The model of railgauge's own engine on GPUs beside measured times: `python -m benchmarks.predict.gpu`.

measured-gpu.jsonl has a table a line, as measured.jsonl has (__main__.py), with the way that ran: `algorithm`,
`protocol`, and `gb_per_s` of each GPU's links by NCCL's account.
"""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

from benchmarks.predict.__main__ import summary

from railgauge.collectives.cost.gpu_cost import GpuRanks, gpu_cost
from railgauge.topo.nccl.settings.algorithm import Algorithm, Collective, Protocol

MEASURED = pathlib.Path(__file__).with_name("measured-gpu.jsonl")


def main() -> None:
    results = list(compared())
    for result in results:
        print(
            "{name:<31} {use:<11} {algorithm:<8} {protocol:<6} {bytes:>10} {measured_us:>7.1f} {predicted_us:>7.1f} "
            "{error:>+5.0%}".format(**result)
        )
    print(*summary(results), sep="\n")


def compared() -> Iterator[dict[str, Any]]:
    """Each row beside its prediction."""
    for table in map(json.loads, MEASURED.read_text().splitlines()):
        where = GpuRanks(ranks=table["ranks"], gb_per_s=table["gb_per_s"])
        way = Collective(table["collective"]), Algorithm(table["algorithm"]), Protocol(table["protocol"])
        for size, measured in table["rows"]:
            predicted = gpu_cost(where, *way, size).time_us
            yield {key: table[key] for key in ("name", "use", "algorithm", "protocol")} | {
                "bytes": size,
                "measured_us": measured,
                "predicted_us": predicted,
                "error": predicted / measured - 1,
            }


if __name__ == "__main__":
    main()
