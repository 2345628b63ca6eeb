# SPDX-License-Identifier: Apache-2.0
"""Results of runs, synthetic."""

from railgauge.collectives.document import Connection, RunDocument
from railgauge.collectives.measure import Row, Timing


def timing(size, us, factor=1.0, wrong=0):
    algbw = size / us / 1e3
    return Timing(time_us=us, algbw_gb_per_s=algbw, busbw_gb_per_s=algbw * factor, wrong=wrong)


def row(size, out_us=10.0, in_us=8.0, **more):
    facts = {"dtype": "float", "redop": "sum", "root": -1, "algorithm": "ring"}
    beside = {"predicted_busbw_gb_per_s": 2.0, "floor_us": 4.0}
    ways = {"out_of_place": timing(size, out_us), "in_place": timing(size, in_us)}
    return Row(
        **({"bytes": size, "count": size // 4, "protocol": "simple", "channels": 2} | facts | ways | beside | more)
    )


def result(*rows, **more):
    wire = {"channel": 0, "via": "SHM", "planned": "SHM", "bytes_sent": 8, "bytes_received": 8}
    connections = [Connection(from_rank=0, to_rank=1, **wire), Connection(from_rank=1, to_rank=0, **wire)]
    facts = {"collective": "all_reduce", "ranks": 2, "nodes": 1, "device": "cpu", "error": None, "host": "gpu-01"}
    when = {"time": "2026-11-21T08:00:00Z", "command": ["run", "all_reduce"], "planned_gb_per_s": 6.0}
    return RunDocument(**({"rows": list(rows), "connections": connections} | facts | when | more))
