# SPDX-License-Identifier: Apache-2.0
"""Tables of perftest: ib_write_bw, ib_send_lat and their siblings."""

from pathlib import Path

import pytest

from railgauge.topo.jobs.tables.table import Measurement, Program
from railgauge.topo.jobs.tables.tables import read_tables

OUTPUTS = Path(__file__).parent / "outputs"
BANDWIDTHS = (OUTPUTS / "perftest-bw.txt").read_text()
LATENCIES = (OUTPUTS / "perftest-lat.txt").read_text()
MEBI, GIGABIT = 2**20 / 1e9, 1 / 8


def titled(title, columns, *rows):
    text = f"                    {title} Test\n Number of qps   : 1\n #bytes     #iterations    {columns}\n"
    (table,) = read_tables(text + "\n".join(f" {row}" for row in rows))
    return table


def test_mebibytes():
    table = read_tables(BANDWIDTHS)[0]
    assert (table.program, table.release, table.test) == (Program.PERFTEST, "", "ib_write_bw")
    assert (table.nic, table.qps, table.directions, table.collective) == ("mlx5_0", 1, 1, None)
    assert (table.line, table.iterations, table.complete, table.gpu_memory) == (6, 664644, True, None)
    (row,) = table.rows
    assert (row.size, row.in_place) == (65536, None)
    assert row.out_of_place == Measurement(algbw_gb_per_s=pytest.approx(11643.61 * MEBI))


def test_gigabits():
    table = read_tables(BANDWIDTHS)[1]
    assert (table.detail, table.nic) == ("RDMA_Write Post List BW Test", "ib0")
    assert table.rows[0].out_of_place == Measurement(algbw_gb_per_s=0.06)


def test_both_directions_and_a_row_that_is_cut():
    table = read_tables(BANDWIDTHS)[2]
    assert (table.directions, table.qps, table.nic, table.complete, len(table.rows)) == (2, 2, "mlx5_3", False, 1)
    assert table.rows[0].out_of_place == Measurement(
        algbw_gb_per_s=pytest.approx(46798.01 * MEBI), peak_gb_per_s=pytest.approx(46810.22 * MEBI)
    )


def test_latencies():
    typical, average = read_tables(LATENCIES)
    assert (typical.test, typical.iterations, typical.complete) == ("ib_write_lat", 1000, True)
    assert [row.size for row in typical.rows] == [2, 4]
    assert typical.rows[0].out_of_place == Measurement(time_us=1.1, min_us=1.07, max_us=4.09)
    assert (average.test, average.nic) == ("ib_send_lat", "mlx5_2")
    assert average.rows[0].out_of_place == Measurement(time_us=1.19)


@pytest.mark.parametrize(
    ("title", "test"),
    [
        ("RDMA_Read BW", "ib_read_bw"),
        ("Send BW", "ib_send_bw"),
        ("RDMA_Read Latency", "ib_read_lat"),
        ("Atomic FETCH_AND_ADD BW", "ib_atomic_bw"),
        ("RDMA_Write Bidirectional Post List BW", "ib_write_bw"),
    ],
)
def test_titles(title, test):
    columns, row = "BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]", "65536 5000 96.00 80.00 0.152588"
    if test.endswith("lat"):
        columns, row = (
            "t_min[usec]    t_max[usec]  t_typical[usec]",
            "2       1000          1.07           4.09         1.10",
        )
    table = titled(title, columns, row)
    assert (table.test, table.directions) == (test, 2 if "Bidirectional" in title else 1)
    assert table.rows[0].out_of_place == (
        Measurement(time_us=1.1, min_us=1.07, max_us=4.09)
        if test.endswith("lat")
        else Measurement(algbw_gb_per_s=10, peak_gb_per_s=12)
    )


@pytest.mark.parametrize(
    ("column", "figure"),
    [("    CPU_Util[%]", "  5.07"), ("        BW min[Gb/sec]", "\t\t  0.00"), ("", "")],
)
def test_further_columns(column, figure):
    columns = f"BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]{column}"
    table = titled(
        "RDMA_Write BW", columns, f"65536      5000             368.67             368.48 \t\t   0.702829{figure}"
    )
    assert table.rows[0].out_of_place == Measurement(
        algbw_gb_per_s=pytest.approx(368.48 * GIGABIT), peak_gb_per_s=pytest.approx(368.67 * GIGABIT)
    )


def test_a_test_that_was_killed_before_the_next_is_incomplete():
    end = BANDWIDTHS.index("-" * 87, BANDWIDTHS.index("11643.61"))
    killed, *_ = read_tables(BANDWIDTHS[:end] + BANDWIDTHS[end + 88 :])
    assert (len(killed.rows), killed.complete) == (1, False)


def test_another_benchmark_with_a_like_heading_has_no_table():
    """Intel's MPI benchmarks count repetitions."""
    heading = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    assert not read_tables(heading + "            8        10000        24.06        30.77        27.94\n")


def test_gpu_memory():
    table, *_ = read_tables(BANDWIDTHS.replace(" GID index", " initializing CUDA\n GID index"))
    assert table.gpu_memory


def test_a_warning_between_the_heading_and_its_row():
    warning = "Conflicting CPU frequency values detected: 1500.000000 != 3300.016000. CPU Frequency is not max.\n"
    noisy = BANDWIDTHS.replace("MsgRate[Mpps]\n", "MsgRate[Mpps]\n" + warning)
    assert [table.rows for table in read_tables(noisy)] == [table.rows for table in read_tables(BANDWIDTHS)]


def test_a_table_without_its_title():
    (table,) = read_tables(BANDWIDTHS[BANDWIDTHS.index(" #bytes") : BANDWIDTHS.index("RDMA_Write Post")])
    assert (table.test, table.nic, table.complete, len(table.rows)) == ("", "", True, 1)


@pytest.mark.parametrize(
    "before", ["[1,0]<stdout>:", "0: ", "2026-11-21T08:00:00.123Z ", "\x1b[32m", "[pod/a/b] ", "> "]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\x1b[0m\n"])
@pytest.mark.parametrize("text", [BANDWIDTHS, LATENCIES])
def test_prefixes_colours_and_ends_of_lines(text, before, end):
    wrapped = "".join(f"{before}{line}{end}" for line in text.splitlines())
    assert read_tables(wrapped) == read_tables(text)


@pytest.mark.parametrize("figure", ["1e999", "nan", "-11643.61", str(10**30), "inf"])
def test_hostile_figures_have_no_row(figure):
    tables = read_tables(BANDWIDTHS.replace("11643.61", figure))
    assert [table.line for table in tables] == [29, 37]


def test_figures_in_bold_and_tables_without_titles():
    heading = "#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    rows = "1024       1000             0.00               **{}**\t\t   5.677340\n"
    tables = read_tables("".join(f"Case:\n{heading}{rows.format(figure)}\n" for figure in ("5544.28", "920.13")))
    found = [table.rows[0].out_of_place.algbw_gb_per_s for table in tables]
    assert found == [pytest.approx(5544.28 * MEBI), pytest.approx(920.13 * MEBI)]
