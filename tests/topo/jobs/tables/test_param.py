# SPDX-License-Identifier: Apache-2.0
"""Tables of PARAM's communication benchmark."""

from pathlib import Path

import pytest

from railgauge.topo.jobs.tables.table import Measurement, Program, TableRow
from railgauge.topo.jobs.tables.tables import read_tables
from railgauge.topo.nccl.settings.algorithm import Collective

OUTPUTS = Path(__file__).parent / "outputs"
NEW = (OUTPUTS / "param.txt").read_text()
OLD = (OUTPUTS / "param-2020.txt").read_text()
ROWS = "\n".join(line for line in NEW.splitlines() if "all_reduce" in line)
FIRST = TableRow(
    size=1048576,
    out_of_place=Measurement(time_us=71.3, algbw_gb_per_s=14.706, busbw_gb_per_s=25.736, min_us=70.9, max_us=72.4),
    dtype="float32",
)


def test_collective_and_point_to_point():
    reduced, sent = read_tables(NEW)
    assert (reduced.program, reduced.test, reduced.collective) == (Program.PARAM, "all_reduce", Collective.ALL_REDUCE)
    assert (len(reduced.rows), reduced.rows[0], reduced.complete, reduced.line) == (2, FIRST, False, 3)
    assert (sent.test, sent.collective, sent.line) == ("pt2pt", None, 7)
    assert sent.rows == (
        TableRow(size=1048576, out_of_place=Measurement(time_us=50.1, algbw_gb_per_s=20.929), dtype="float32"),
    )


def test_old_release_names_no_collective():
    (table,) = read_tables(OLD)
    assert (table.test, table.collective, len(table.rows)) == ("", None, 2)
    assert table.rows[1] == TableRow(
        size=2097152, out_of_place=Measurement(time_us=101.1, algbw_gb_per_s=20.743, busbw_gb_per_s=36.301)
    )


def test_rows_without_their_heading():
    (table,) = read_tables(ROWS)
    assert (table.collective, table.rows[0]) == (Collective.ALL_REDUCE, FIRST)


def test_a_table_a_collective_type_and_tag():
    other = ROWS.replace("all_reduce", "all_to_all").replace("float32", "int32-tag")
    first, second = read_tables(
        "\n".join(line for pair in zip(ROWS.splitlines(), other.splitlines(), strict=True) for line in pair)
    )
    assert (first.collective, second.collective) == (Collective.ALL_REDUCE, Collective.ALL_TO_ALL)
    assert (second.detail, second.rows[0].dtype, len(first.rows), len(second.rows)) == ("-tag", "int32", 2, 2)


def test_quantised_runs_have_no_table():
    assert not read_tables(NEW.replace("COMMS-RES-", "COMMS-RES-QUANT-").replace("COMMS-RES  ", "COMMS-RES-QUANT  "))


@pytest.mark.parametrize("before", ["[1,0]<stdout>:", "0: ", "2026-11-21T08:00:00.123Z ", "\x1b[32m", "[pod/a/b] "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\x1b[0m\n"])
@pytest.mark.parametrize("text", [NEW, OLD])
def test_prefixes_colours_and_ends_of_lines(text, before, end):
    wrapped = "".join(f"{before}{line}{end}" for line in text.splitlines())
    assert read_tables(wrapped) == read_tables(text)


@pytest.mark.parametrize("figure", ["1e999", "nan", "-14.706", str(10**30), "x"])
def test_hostile_figures_have_no_row(figure):
    table, _ = read_tables(NEW.replace("14.706", figure))
    assert [row.size for row in table.rows] == [2097152]


def test_a_row_that_is_cut_is_left_out():
    (table,) = read_tables(NEW[: NEW.index("36.301") - 8])
    assert [row.size for row in table.rows] == [1048576]
