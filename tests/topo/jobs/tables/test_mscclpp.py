# SPDX-License-Identifier: Apache-2.0
"""Tables of mscclpp-test, of the Python benchmarks of MSCCL++, and JSON lines."""

from pathlib import Path

import pytest

from railgauge.topo.jobs.tables.table import Measurement, Program, RankDevice
from railgauge.topo.jobs.tables.tables import read_tables
from railgauge.topo.nccl.settings.algorithm import Collective

OUTPUTS = Path(__file__).parent / "outputs"
TEST = (OUTPUTS / "mscclpp-test.txt").read_text()
PYTHON = (OUTPUTS / "mscclpp-python.txt").read_text()
LINES = (OUTPUTS / "mscclpp-test.json").read_text()


def test_both_columns():
    in_place, out_of_place = read_tables(TEST)
    assert (in_place.program, in_place.test, in_place.line) == (Program.MSCCLPP, "allreduce_test_perf", 2)
    assert (in_place.collective, in_place.ranks, in_place.nodes) == (Collective.ALL_REDUCE, 2, 1)
    assert (in_place.iterations, in_place.warmup, in_place.checked) == (10, 10, True)
    assert (in_place.complete, in_place.out_of_bounds, in_place.gpu_memory) == (True, 0, True)
    assert in_place.devices[1] == RankDevice(
        rank=1, host="costsim-dev-00000A", device=1, bus_id="0002:00:00.0", gpu="NVIDIA A100-SXM4-80GB"
    )
    (row,) = in_place.rows
    assert (row.size, row.out_of_place) == (1073741824, Measurement())
    assert row.in_place == Measurement(time_us=17018, algbw_gb_per_s=63.09, busbw_gb_per_s=110.41, wrong=0)
    assert (out_of_place.collective, out_of_place.iterations) == (Collective.ALL_TO_ALL, None)
    (row,) = out_of_place.rows
    assert row.in_place is None
    assert row.out_of_place == Measurement(time_us=23275, algbw_gb_per_s=46.13, busbw_gb_per_s=43.25, wrong=0)


@pytest.mark.parametrize("before", ["2026-11-21T08:00:00.123Z ", "worker-0: ", "[pod/mscclpp-7/main] ", "12:31:05 1: "])
def test_columns_behind_prefixes(before):
    wrapped = "".join(f"{before}{line}\n" for line in TEST.replace("[1,0]<stdout>:", "").splitlines())
    tables = read_tables(wrapped)
    assert [table.rows for table in tables] == [table.rows for table in read_tables(TEST)]


def test_cut_before_its_end_is_incomplete():
    (table,) = read_tables(TEST[: TEST.index("# Out of bounds")])
    assert (len(table.rows), table.complete, table.out_of_bounds) == (1, False, None)


def test_python_benchmarks():
    first, second = read_tables(PYTHON)
    assert (first.test, first.collective, first.line) == ("", None, 3)
    assert [row.size for row in first.rows] == [2048, 48 << 20]
    assert first.rows[1].out_of_place == Measurement(time_us=245.29, algbw_gb_per_s=205.19)
    assert (second.test, second.collective, second.line) == ("allgather", Collective.ALL_GATHER, 11)
    (row,) = second.rows
    assert (row.size, row.in_place) == (112 << 10, None)
    assert row.out_of_place == Measurement(time_us=6.1, algbw_gb_per_s=18.8, busbw_gb_per_s=16.45)


def test_a_row_of_the_python_benchmarks_that_is_cut_is_left_out():
    (table,) = read_tables(PYTHON[: PYTHON.index("245.29")])
    assert [row.size for row in table.rows] == [2048]


def test_json_lines():
    first, second = read_tables(LINES)
    assert (first.test, first.collective, first.ranks, first.nodes) == ("allgather", Collective.ALL_GATHER, 8, 1)
    assert (second.ranks, second.nodes, second.line) == (16, 2, 2)
    assert first.rows[0].size == 1 << 30
    assert first.rows[0].out_of_place == Measurement(time_us=3683.13, algbw_gb_per_s=291.52, busbw_gb_per_s=255.08)


@pytest.mark.parametrize("figure", ["1e999", "-1", "NaN", "null", '"8"', "[]", str(10**30)])
def test_hostile_json_has_no_row(figure):
    assert [table.ranks for table in read_tables(LINES.replace("291.52", figure))] == [16]
