# SPDX-License-Identifier: Apache-2.0
"""JSON of nccl-tests (-J) and of rccl-tests (-x)."""

import json
from pathlib import Path

from railgauge.topo.jobs.tables.table import Measurement, Program, RankDevice, TableRow
from railgauge.topo.jobs.tables.tables import read_tables
from railgauge.topo.nccl.settings.algorithm import Collective

OUTPUTS = Path(__file__).parent / "outputs"
RUN = json.loads((OUTPUTS / "nccl-tests.json").read_text())
LINES = (OUTPUTS / "rccl-tests.json").read_text()


def one(text):
    (table,) = read_tables(text)
    return table


def test_run():
    table = one(json.dumps(RUN))
    assert (table.program, table.library, table.test) == (Program.NCCL_TESTS, "2.29.7", "all_reduce_perf")
    assert (table.collective, table.ranks, table.nodes, table.groups) == (Collective.ALL_REDUCE, 2, 2, 1)
    assert (table.per_thread, table.iterations, table.warmup, table.checked) == (1, 20, 5, True)
    assert (table.average_busbw_gb_per_s, table.out_of_bounds, table.complete) == (30.140351, 0, True)
    assert table.devices[1] == RankDevice(
        rank=1, host="node1", device=0, bus_id="0000:18:00", gpu="NVIDIA H100 80GB HBM3"
    )
    assert table.rows[0] == TableRow(
        size=1048576,
        out_of_place=Measurement(time_us=41.5, algbw_gb_per_s=25.266892, busbw_gb_per_s=25.266892, wrong=0),
        in_place=Measurement(time_us=41.3, algbw_gb_per_s=25.38925, busbw_gb_per_s=25.38925, wrong=0),
        dtype="float",
        redop="sum",
        root=-1,
    )
    assert table.rows[1].in_place.wrong is None


def test_the_arguments_tell_symmetric_windows():
    assert not one(json.dumps(RUN)).symmetric
    assert one(json.dumps(RUN | {"args": ["./all_reduce_perf", "-R", "2"]})).symmetric
    assert one(json.dumps(RUN | {"args": ["./alltoall_perf", "-R", "2", "-x", "2"]})).zero_cta
    assert not one(json.dumps(RUN | {"args": "-R 2"})).symmetric


def test_run_printed_over_lines_behind_other_lines():
    text = "NCCL version 2.29.7\n" + json.dumps(RUN, indent=4) + "\ndone\n"
    assert one(text).rows == one(json.dumps(RUN)).rows
    assert one(text).line == 2


def test_processes_that_name_their_first_gpu_alone():
    run = json.loads(json.dumps(RUN))
    run["config"]["ngpus"] = 4
    assert (one(json.dumps(run)).ranks, one(json.dumps(run)).nodes) == (8, 2)


def test_a_run_of_many_ranks_is_one_long_line():
    run = json.loads(json.dumps(RUN))
    run["config"]["devices"] = [RUN["config"]["devices"][0] | {"rank": rank, "pid": rank} for rank in range(4096)]
    raw = json.dumps(run).encode()
    (table,) = read_tables(raw[at : at + (1 << 16)] for at in range(0, len(raw), 1 << 16))
    assert (len(raw) > 1 << 19, table.ranks) == (True, 4096)


def test_groups_beside_each_other():
    run = json.loads(json.dumps(RUN))
    run["config"]["devices"][1]["group"] = 1
    table = one(json.dumps(run))
    assert (table.ranks, table.nodes, table.groups) == (1, 1, 2)


def test_a_run_without_its_end_is_incomplete():
    run = {key: value for key, value in RUN.items() if key not in ("average_bus_bandwidth", "out_of_bounds")}
    table = one(json.dumps(run))
    assert (table.average_busbw_gb_per_s, table.out_of_bounds, table.complete) == (None, None, False)


def test_times_of_the_cpu():
    run = json.loads(json.dumps(RUN).replace('"time"', '"cpu_time"'))
    assert one(json.dumps(run)).cpu_time
    assert one(json.dumps(run)).rows[0].in_place.time_us == 41.3


def test_hostile_values_are_none():
    text = json.dumps(RUN).replace("41.5", "1e999").replace("25.38925", "-4").replace('"    -1"', '"--1"')
    row = one(text.replace('"iterations": 20', f'"iterations": {10**30}')).rows[0]
    assert (row.out_of_place.time_us, row.in_place.busbw_gb_per_s, row.root) == (None, None, None)
    assert one(text.replace('"iterations": 20', f'"iterations": {10**30}')).iterations is None
    assert one(text.replace('"iterations": 20', '"iterations": true')).iterations is None


def test_lines_of_rccl():
    table = one(LINES)
    assert (table.program, table.test, table.collective) == (Program.RCCL_TESTS, "AllReduce", Collective.ALL_REDUCE)
    assert (table.ranks, table.nodes, table.complete) == (4, 0, False)
    assert table.rows[0] == TableRow(
        size=1024,
        out_of_place=Measurement(
            time_us=19.184150000000002, algbw_gb_per_s=0.05337739748698796, busbw_gb_per_s=0.08006609623048194, wrong=0
        ),
        in_place=Measurement(
            time_us=19.897650000000002, algbw_gb_per_s=0.05146336376406259, busbw_gb_per_s=0.07719504564609389, wrong=0
        ),
        dtype="float",
        redop="sum",
    )
    assert (table.rows[1].size, table.rows[1].in_place) == (2048, None)


def test_another_collective_of_rccl_begins_a_table():
    tables = read_tables(LINES + LINES.replace("AllReduce", "ReduceScatter"))
    assert [table.collective for table in tables] == [Collective.ALL_REDUCE, Collective.REDUCE_SCATTER]
    assert [table.line for table in tables] == [1, 4]


def test_in_place_alone():
    (row,) = one(LINES.splitlines()[1]).rows
    assert (row.out_of_place, row.in_place.time_us) == (Measurement(), 19.897650000000002)
